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

/// Loops over the updates in row-major order and places each at the index that `target` gives.
template <typename OpT>
void place(OpT op, OnnxLowering &to, ArrayRef<Value> extents,
           llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ArrayRef<Value>)> target) {
  Value updates = to.value(op.getUpdates());
  bool natural = isUnsignedElement(op.getData());
  SmallVector<Value> result =
      to.loops(extents, to.value(op.getData()),
               [&](OpBuilder &b, Location at, ArrayRef<Value> i, ValueRange carried) -> SmallVector<Value> {
                 SmallVector<Value> where = target(b, at, i);
                 Value update = tensor::ExtractOp::create(b, at, updates, i);
                 if (op.getReduction() != "none")
                   update = combine(b, at, op.getReduction(), tensor::ExtractOp::create(b, at, carried[0], where),
                                    update, natural);
                 return {tensor::InsertOp::create(b, at, update, carried[0], where)};
               });
  to.set(op.getOutput(), result[0]);
}

LogicalResult lowerScatterElements(onnx::ScatterElementsOp op, OnnxLowering &to) {
  Dims data(to.shapes.shape(op.getData())), dims(to.shapes.shape(op.getIndices()));
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + data.size() : op.getAxis();
  Value extent = to.sizeValue(data[axis]), indices = to.value(op.getIndices());
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
  place(op, to, bounds, [&](OpBuilder &b, Location at, ArrayRef<Value> i) {
    SmallVector<Value> target(i);
    Value index = tensor::ExtractOp::create(b, at, indices, i);
    target[axis] = OnnxLowering::wrapIndex(b, at, index, extent);
    return target;
  });
  return success();
}

LogicalResult lowerScatterND(onnx::ScatterNDOp op, OnnxLowering &to) {
  Dims data(to.shapes.shape(op.getData())), indexDims(to.shapes.shape(op.getIndices())),
      updateDims(to.shapes.shape(op.getUpdates()));
  int64_t outer = indexDims.size() - 1,
          length = outer + static_cast<int64_t>(data.size()) - static_cast<int64_t>(updateDims.size());
  to.checkExtent(indexDims.back(), length, "the index tuples");
  Value indices = to.value(op.getIndices());
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
  place(op, to, extents, [&](OpBuilder &b, Location at, ArrayRef<Value> i) {
    SmallVector<Value> target, tuple(i.take_front(outer));
    tuple.push_back(Value());
    for (int64_t k = 0; k < length; ++k) {
      tuple.back() = numbers[k];
      Value index = tensor::ExtractOp::create(b, at, indices, tuple);
      target.push_back(OnnxLowering::wrapIndex(b, at, index, bounds[k]));
    }
    target.append(i.begin() + outer, i.end());
    return target;
  });
  return success();
}

} // namespace

void populateScatterLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::ScatterElementsOp>(lowerScatterElements);
  registry.add<onnx::ScatterNDOp>(lowerScatterND);
}

} // namespace farskip
