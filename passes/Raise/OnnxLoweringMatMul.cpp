// The matrix product that all lowerings share.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace farskip;
using namespace mlir;

Value OnnxLowering::broadcastTo(Value tensor, ArrayRef<SymbolicExpr> from, ArrayRef<SymbolicExpr> to) {
  if (Dims(from) == Dims(to))
    return tensor;
  return elementwise({{tensor, from}}, to, getElementTypeOrSelf(tensor.getType()),
                     [](OpBuilder &, Location, ValueRange x) { return x[0]; });
}

Value OnnxLowering::convertFloat(Value tensor, ArrayRef<SymbolicExpr> dims, Type element) {
  Type from = getElementTypeOrSelf(tensor.getType());
  if (from == element)
    return tensor;
  bool widen = cast<FloatType>(from).getWidth() < cast<FloatType>(element).getWidth();
  return elementwise({{tensor, dims}}, dims, element, [&](OpBuilder &b, Location at, ValueRange x) -> Value {
    if (widen)
      return arith::ExtFOp::create(b, at, element, x[0]);
    return arith::TruncFOp::create(b, at, element, x[0]);
  });
}

Value OnnxLowering::matmul(Value a, ArrayRef<SymbolicExpr> aDims, Value b, ArrayRef<SymbolicExpr> bDims,
                           ArrayRef<SymbolicExpr> yDims) {
  // A weight without batch axes: all rows are rows of one product.
  bool flatB = llvm::all_of(bDims.drop_back(2), [](const SymbolicExpr &dim) { return dim.isConstant(1); });
  Dims left(aDims), right(bDims), result(yDims);
  if (flatB && yDims.size() > 2) {
    Dims fullA(yDims.drop_back(2));
    fullA.push_back(aDims[aDims.size() - 2]);
    fullA.push_back(aDims.back());
    SymbolicExpr rows(1);
    for (const SymbolicExpr &dim : ArrayRef(fullA).drop_back())
      rows = rows * dim;
    left = {rows, aDims.back()};
    a = reshape(broadcastTo(a, aDims, fullA), fullA, left);
    right = Dims(bDims.take_back(2));
    b = reshape(b, bDims, right);
    result = {rows, yDims.back()};
  }
  int64_t rank = result.size(), batch = rank - 2;
  auto operandMap = [&](Value &tensor, Dims &dims, AffineExpr first, AffineExpr second) {
    SmallVector<AffineExpr> exprs;
    Dims kept;
    int64_t leading = dims.size() - 2;
    // Extents that may or may not be stretched are copied out first.
    Dims full = dims;
    bool unproven = false;
    for (int64_t axis = 0; axis < leading; ++axis) {
      const SymbolicExpr &whole = result[batch - leading + axis];
      if (dims[axis] != whole && !dims[axis].isConstant(1))
        full[axis] = whole, unproven = true;
    }
    if (unproven) {
      tensor = broadcastTo(tensor, dims, full);
      dims = full;
    }
    for (int64_t axis = 0; axis < leading; ++axis) {
      int64_t at = batch - leading + axis;
      if (dims[axis].isConstant(1) && !result[at].isConstant(1))
        continue;
      exprs.push_back(builder.getAffineDimExpr(at));
      kept.push_back(dims[axis]);
    }
    kept.append(dims.end() - 2, dims.end());
    tensor = reshape(tensor, dims, kept);
    exprs.append({first, second});
    return AffineMap::get(rank + 1, 0, exprs, builder.getContext());
  };
  AffineExpr m = builder.getAffineDimExpr(rank - 2), n = builder.getAffineDimExpr(rank - 1),
             k = builder.getAffineDimExpr(rank);
  AffineMap mapA = operandMap(a, left, m, k), mapB = operandMap(b, right, k, n);
  SmallVector<AffineExpr> out;
  for (int64_t axis = 0; axis < rank; ++axis)
    out.push_back(builder.getAffineDimExpr(axis));
  AffineMap mapY = AffineMap::get(rank + 1, 0, out, builder.getContext());
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);

  Type element = getElementTypeOrSelf(a.getType());
  auto real = dyn_cast<FloatType>(element);
  Type sum = real && real.getWidth() < 32 ? builder.getF32Type() : element;
  Value init = filled(result, scalar(sum, 0));
  auto generic =
      linalg::GenericOp::create(builder, location, init.getType(), ValueRange{a, b}, init, ArrayRef{mapA, mapB, mapY},
                                iterators, [&](OpBuilder &in, Location at, ValueRange x) {
                                  Value next;
                                  if (real) {
                                    auto widen = [&](Value v) -> Value {
                                      return v.getType() == sum ? v : arith::ExtFOp::create(in, at, sum, v).getResult();
                                    };
                                    next = math::FmaOp::create(in, at, widen(x[0]), widen(x[1]), x[2]);
                                  } else {
                                    next =
                                        arith::AddIOp::create(in, at, x[2], arith::MulIOp::create(in, at, x[0], x[1]));
                                  }
                                  linalg::YieldOp::create(in, at, next);
                                });
  Value y = generic.getResult(0);
  if (sum != element)
    y = convertFloat(y, result, element);
  return reshape(y, result, yDims);
}
