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

} // namespace farskip::onnx
