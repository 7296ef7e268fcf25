// Lowering of operators that place elements by index.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace mlir;

namespace farskip {

namespace {

Value combine(OpBuilder &b, Location at, StringRef reduction, Value old, Value update, bool natural) {
  if (reduction == "none")
    return update;
  Type type = old.getType();
  auto real = dyn_cast<FloatType>(type);
  bool narrow = real && real.getWidth() < 32;
  if (narrow) {
    old = arith::ExtFOp::create(b, at, b.getF32Type(), old);
    update = arith::ExtFOp::create(b, at, b.getF32Type(), update);
  }
  Value result;
  if (reduction == "add")
    result = real ? arith::AddFOp::create(b, at, old, update).getResult() : arith::AddIOp::create(b, at, old, update);
  else if (reduction == "mul")
    result = real ? arith::MulFOp::create(b, at, old, update).getResult() : arith::MulIOp::create(b, at, old, update);
  else if (reduction == "min")
    result = real      ? arith::MinimumFOp::create(b, at, old, update).getResult()
             : natural ? arith::MinUIOp::create(b, at, old, update).getResult()
                       : arith::MinSIOp::create(b, at, old, update).getResult();
  else
    result = real      ? arith::MaximumFOp::create(b, at, old, update).getResult()
             : natural ? arith::MaxUIOp::create(b, at, old, update).getResult()
                       : arith::MaxSIOp::create(b, at, old, update).getResult();
  return narrow ? arith::TruncFOp::create(b, at, type, result).getResult() : result;
}

bool isNatural(Value onnx) {
  Type type = getElementTypeOrSelf(onnx.getType());
  return type.isUnsignedInteger() || type.isInteger(1);
}

/// The updates must have this shape.
void checkShape(OnnxLowering &to, ArrayRef<SymbolicExpr> have, ArrayRef<SymbolicExpr> want) {
  for (size_t k = 0; k < want.size(); ++k) {
    if (have[k] == want[k])
      continue;
    Value a = to.sizeValue(have[k]), b = to.sizeValue(want[k]);
    to.check(arith::CmpIOp::create(to.builder, to.loc(), arith::CmpIPredicate::eq, a, b),
             "updates have extent {0} along axis " + Twine(k) + ", wanted {1}", {a, b});
  }
}

LogicalResult lowerScatterElements(onnx::ScatterElementsOp op, OnnxLowering &to) {
  Dims data(to.shapes.shape(op.getData())), dims(to.shapes.shape(op.getIndices()));
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + data.size() : op.getAxis();
  Value extent = to.sizeValue(data[axis]), indices = to.value(op.getIndices()), updates = to.value(op.getUpdates());
  to.checkIndices(op.getIndices(), extent);
  checkShape(to, to.shapes.shape(op.getUpdates()), dims);
  SmallVector<Value> bounds;
  for (auto [k, dim] : llvm::enumerate(dims)) {
    bounds.push_back(to.sizeValue(dim));
    if (static_cast<int64_t>(k) == axis || (data[k] - dim).isNonNegative())
      continue;
    Value have = to.sizeValue(data[k]);
    to.check(arith::CmpIOp::create(to.builder, to.loc(), arith::CmpIPredicate::sge, have, bounds.back()),
             "indices have extent {1} along axis " + Twine(k) + ", data {0}", {have, bounds.back()});
  }
  bool natural = isNatural(op.getData());
  SmallVector<Value> result =
      to.loops(bounds, to.value(op.getData()),
               [&](OpBuilder &b, Location at, ArrayRef<Value> i, ValueRange carried) -> SmallVector<Value> {
                 SmallVector<Value> target(i);
                 Value index = tensor::ExtractOp::create(b, at, indices, i);
                 target[axis] = OnnxLowering::wrapIndex(b, at, index, extent);
                 Value update = tensor::ExtractOp::create(b, at, updates, i);
                 if (op.getReduction() != "none")
                   update = combine(b, at, op.getReduction(), tensor::ExtractOp::create(b, at, carried[0], target),
                                    update, natural);
                 return {tensor::InsertOp::create(b, at, update, carried[0], target)};
               });
  to.set(op.getOutput(), result[0]);
  return success();
}

LogicalResult lowerScatterND(onnx::ScatterNDOp op, OnnxLowering &to) {
  Dims data(to.shapes.shape(op.getData())), indexDims(to.shapes.shape(op.getIndices())),
      updateDims(to.shapes.shape(op.getUpdates()));
  int64_t length = *indexDims.back().constant(), outer = indexDims.size() - 1;
  Value indices = to.value(op.getIndices()), updates = to.value(op.getUpdates());
  SmallVector<Value> bounds, extents, numbers;
  for (int64_t k = 0; k < length; ++k) {
    bounds.push_back(to.sizeValue(data[k]));
    numbers.push_back(to.index(k));
  }
  Dims want(ArrayRef(indexDims).drop_back());
  want.append(data.begin() + length, data.end());
  checkShape(to, updateDims, want);
  for (const SymbolicExpr &dim : updateDims)
    extents.push_back(to.sizeValue(dim));
  to.checkTuples(op.getIndices(), bounds);
  bool natural = isNatural(op.getData());
  SmallVector<Value> result =
      to.loops(extents, to.value(op.getData()),
               [&](OpBuilder &b, Location at, ArrayRef<Value> i, ValueRange carried) -> SmallVector<Value> {
                 SmallVector<Value> target, tuple(i.take_front(outer));
                 tuple.push_back(Value());
                 for (int64_t k = 0; k < length; ++k) {
                   tuple.back() = numbers[k];
                   Value index = tensor::ExtractOp::create(b, at, indices, tuple);
                   target.push_back(OnnxLowering::wrapIndex(b, at, index, bounds[k]));
                 }
                 target.append(i.begin() + outer, i.end());
                 Value update = tensor::ExtractOp::create(b, at, updates, i);
                 if (op.getReduction() != "none")
                   update = combine(b, at, op.getReduction(), tensor::ExtractOp::create(b, at, carried[0], target),
                                    update, natural);
                 return {tensor::InsertOp::create(b, at, update, carried[0], target)};
               });
  to.set(op.getOutput(), result[0]);
  return success();
}

} // namespace

void populateScatterLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::ScatterElementsOp>(lowerScatterElements);
  registry.add<onnx::ScatterNDOp>(lowerScatterND);
}

} // namespace farskip
