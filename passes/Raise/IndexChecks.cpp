// Checks of indices that only the run knows.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace farskip;
using namespace mlir;

Value OnnxLowering::wrapIndex(OpBuilder &b, Location loc, Value index, Value extent) {
  Value i = arith::IndexCastOp::create(b, loc, b.getIndexType(), index);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i, zero);
  return arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, i, extent), i);
}

/// The least of 0 and all elements, or the greatest of −1 and all: no elements are always in range.
static Value extreme(OnnxLowering &to, Value tensor, ArrayRef<SymbolicExpr> dims, bool greatest) {
  OpBuilder &b = to.builder;
  SmallVector<bool> all(dims.size(), true);
  Value start = to.integer(getElementTypeOrSelf(tensor.getType()), greatest ? -1 : 0);
  Value folded = to.reduce(tensor, dims, all, start, [&](OpBuilder &in, Location at, ValueRange x) -> Value {
    if (greatest)
      return arith::MaxSIOp::create(in, at, x[0], x[1]);
    return arith::MinSIOp::create(in, at, x[0], x[1]);
  });
  Value scalar = tensor::ExtractOp::create(b, to.loc(), folded, ValueRange{});
  return arith::IndexCastOp::create(b, to.loc(), b.getIndexType(), scalar);
}

void OnnxLowering::checkRange(Value tensor, ArrayRef<SymbolicExpr> dims, Value extent) {
  Value low = extreme(*this, tensor, dims, false), high = extreme(*this, tensor, dims, true);
  Value least = arith::SubIOp::create(builder, location, index(0), extent);
  check(arith::CmpIOp::create(builder, location, arith::CmpIPredicate::sge, low, least),
        "index {0} is out of range, the axis has {1}", {low, extent});
  check(arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt, high, extent),
        "index {0} is out of range, the axis has {1}", {high, extent});
}

void OnnxLowering::checkIndices(Value onnx, Value extent) {
  IntegerAttr bound;
  std::optional<SmallVector<int64_t>> known = shapes.constants(onnx);
  if (known && matchPattern(extent, m_Constant(&bound)) &&
      llvm::all_of(*known, [&](int64_t i) { return i >= -bound.getInt() && i < bound.getInt(); }))
    return;
  Dims dims(shapes.shape(onnx));
  checkRange(value(onnx), dims, extent);
}

void OnnxLowering::checkTuples(Value onnx, ArrayRef<Value> extents) {
  Dims dims(shapes.shape(onnx)), column = dims;
  column.back() = 1;
  for (auto [k, extent] : llvm::enumerate(extents)) {
    SmallVector<OpFoldResult> offsets(dims.size(), builder.getIndexAttr(0)),
        strides(dims.size(), builder.getIndexAttr(1));
    offsets.back() = builder.getIndexAttr(k);
    Value part = tensor::ExtractSliceOp::create(builder, location, value(onnx), offsets, sizes(column), strides);
    checkRange(part, column, extent);
  }
}

void OnnxLowering::checkExtent(const SymbolicExpr &dim, int64_t extent, StringRef what) {
  if (dim.isConstant(extent))
    return;
  Value have = sizeValue(dim), want = index(extent);
  check(arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, have, want),
        what + " have extent {0}, wanted {1}", {have, want});
}

void OnnxLowering::checkSize(ArrayRef<OpFoldResult> extents) {
  if (llvm::all_of(extents, [](OpFoldResult extent) { return isa<Attribute>(extent); }))
    return;
  // In f64, which does not wrap.
  Type f64 = builder.getF64Type(), i64 = builder.getI64Type();
  Value product = arith::ConstantOp::create(builder, location, builder.getF64FloatAttr(1));
  for (OpFoldResult extent : extents) {
    Value number = isa<Attribute>(extent) ? index(*getConstantIntValue(extent)) : cast<Value>(extent);
    Value wide = arith::IndexCastOp::create(builder, location, i64, number);
    product = arith::MulFOp::create(builder, location, product, arith::SIToFPOp::create(builder, location, f64, wide));
  }
  Value most = arith::ConstantOp::create(builder, location, builder.getF64FloatAttr(0x1p40));
  check(arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OLE, product, most),
        "the result would have more than 2^40 elements");
}
