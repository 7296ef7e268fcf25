// Shapes of normalisations.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

static LogicalResult checkFloat(Operation *op, Value value) {
  if (isa<FloatType>(elementType(value)))
    return success();
  return op->emitOpError() << "element type " << elementType(value) << " is no float";
}

/// Y like X; the statistics have extent 1 along the normalised axes.
static LogicalResult inferNorm(Operation *op, SymbolicShapes &shapes, int64_t axis, int64_t stashType,
                               ArrayRef<unsigned> statistics) {
  Value x = op->getOperand(0);
  FailureOr<int64_t> first = normalizeAxis(op, axis, shapes.rank(x));
  if (failed(first) || failed(checkFloat(op, x)))
    return failure();
  if (stashType != 1 && stashType != 16 && stashType != 10 && stashType != 11)
    return op->emitOpError() << "stash_type " << stashType << " is no float type";
  Dims dims(shapes.shape(x)), scale(shapes.shape(op->getOperand(1)));
  std::optional<Dims> wide = shapes.broadcast(ArrayRef(dims).drop_front(*first), scale);
  if (!wide || wide->size() != dims.size() - *first)
    return op->emitOpError() << "scale of shape " << shapes.str(scale) << " does not fit " << shapes.str(dims);
  Dims small = dims;
  for (size_t i = *first; i < small.size(); ++i)
    small[i] = 1;
  shapes.set(op->getResult(0), elementType(x), dims);
  for (unsigned i : statistics)
    shapes.set(op->getResult(i), Float32Type::get(op->getContext()), small);
  return success();
}

LogicalResult LayerNormalizationOp::inferShapes(SymbolicShapes &shapes) {
  return inferNorm(*this, shapes, getAxis(), getStashType(), {1, 2});
}
LogicalResult RMSNormalizationOp::inferShapes(SymbolicShapes &shapes) {
  return inferNorm(*this, shapes, getAxis(), getStashType(), {});
}
LogicalResult SimplifiedLayerNormalizationOp::inferShapes(SymbolicShapes &shapes) {
  return inferNorm(*this, shapes, getAxis(), getStashType(), {1});
}

static LogicalResult inferSkipNorm(Operation *op, SymbolicShapes &shapes) {
  Value x = op->getOperand(0);
  if (failed(checkFloat(op, x)))
    return failure();
  Dims dims(shapes.shape(x));
  if (dims.empty())
    return op->emitOpError() << "a scalar input; wanted rank 1 or more";
  std::optional<Dims> sum = shapes.broadcast(dims, shapes.shape(op->getOperand(1)));
  if (!sum || sum->size() != dims.size())
    return op->emitOpError() << "skip of shape " << shapes.str(shapes.shape(op->getOperand(1)))
                             << " does not fit input " << shapes.str(dims);
  Dims small = dims;
  small.back() = 1;
  shapes.set(op->getResult(0), elementType(x), dims);
  for (unsigned i : {1, 2})
    shapes.set(op->getResult(i), Float32Type::get(op->getContext()), small);
  shapes.set(op->getResult(3), elementType(x), dims);
  return success();
}

LogicalResult MsSkipSimplifiedLayerNormalizationOp::inferShapes(SymbolicShapes &shapes) {
  return inferSkipNorm(*this, shapes);
}
LogicalResult MsSkipLayerNormalizationOp::inferShapes(SymbolicShapes &shapes) { return inferSkipNorm(*this, shapes); }

} // namespace farskip::onnx
