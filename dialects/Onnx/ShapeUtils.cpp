// What the shape functions of the operators share.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

LogicalResult inferElementwise(Operation *op, SymbolicShapes &shapes, Type element) {
  Dims dims(shapes.shape(op->getOperand(0)));
  for (Value operand : llvm::drop_begin(op->getOperands())) {
    std::optional<Dims> wider = shapes.broadcast(dims, shapes.shape(operand));
    if (!wider)
      return op->emitOpError() << "cannot broadcast shapes " << shapes.str(dims) << " and "
                               << shapes.str(shapes.shape(operand));
    dims = std::move(*wider);
  }
  shapes.set(op->getResult(0), element ? element : elementType(op->getOperand(0)), std::move(dims));
  return success();
}

FailureOr<int64_t> normalizeAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return op->emitOpError() << "axis " << axis << " is outside [" << -rank << ", " << rank - 1 << "] of rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

LogicalResult checkRank(Operation *op, SymbolicShapes &shapes, Value value, StringRef what, int64_t least,
                        int64_t most) {
  int64_t rank = shapes.rank(value);
  if (rank < least || rank > most)
    return op->emitOpError() << what << " has rank " << rank << ", wanted "
                             << (least == most ? llvm::Twine(least) : llvm::Twine(least) + " to " + llvm::Twine(most));
  return success();
}

FailureOr<int64_t> declaredRank(Operation *op, Value result) {
  if (auto type = dyn_cast<RankedTensorType>(result.getType()))
    return type.getRank();
  return op->emitOpError() << "the rank of the result is not known before the run";
}

void setUnknown(SymbolicShapes &shapes, Value result, Type element, int64_t rank) {
  Dims dims;
  for (int64_t axis = 0; axis < rank; ++axis)
    dims.push_back(shapes.fresh(result, axis));
  shapes.set(result, element, std::move(dims));
}

FailureOr<int64_t> rankByAxes(Operation *op, SymbolicShapes &shapes, Value axes, int64_t rank, bool added) {
  if (failed(checkRank(op, shapes, axes, "the axes", 1, 1)))
    return failure();
  std::optional<int64_t> count = shapes.shape(axes)[0].constant();
  FailureOr<int64_t> result =
      count ? FailureOr<int64_t>(added ? rank + *count : rank - *count) : declaredRank(op, op->getResult(0));
  if (failed(result))
    return failure();
  if (*result < 0 || (added ? *result < rank : *result > rank))
    return op->emitOpError() << "an input of rank " << rank << " does not fit "
                             << (count ? Twine(*count) + " axes" : "a result of rank " + Twine(*result));
  return result;
}

LogicalResult checkSame(Operation *op, SymbolicShapes &shapes, const SymbolicExpr &have, const SymbolicExpr &want,
                        StringRef what) {
  if (!have.isNever(want))
    return success();
  return op->emitOpError() << what << " is " << shapes.str(have) << ", wanted " << shapes.str(want);
}

FailureOr<SymbolicExpr> headSize(Operation *op, SymbolicShapes &shapes, const SymbolicExpr &width, int64_t heads,
                                 StringRef what) {
  if (heads < 1)
    return op->emitOpError() << "the number of heads of " << what << " is " << heads;
  if (std::optional<int64_t> known = width.constant()) {
    if (*known % heads)
      return op->emitOpError() << what << " has width " << *known << ", which " << heads << " heads do not divide";
    return SymbolicExpr(*known / heads);
  }
  if (std::optional<SymbolicExpr> exact = width.dividedBy(heads))
    return *exact;
  return shapes.floorDiv(width, heads);
}

} // namespace farskip::onnx
