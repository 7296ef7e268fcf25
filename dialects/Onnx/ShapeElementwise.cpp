// Shapes of elementwise operators; integer contents are followed through additions and products.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

/// Applies `combine` to the tracked contents of two operands (equal lengths, or one of length one).
static LogicalResult inferBinary(Operation *op, SymbolicShapes &shapes,
                                 llvm::function_ref<std::optional<SymbolicExpr>(SymbolicExpr, SymbolicExpr)> combine) {
  if (failed(inferElementwise(op, shapes)))
    return failure();
  const Dims *a = shapes.contents(op->getOperand(0)), *b = shapes.contents(op->getOperand(1));
  if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1))
    return success();
  size_t count = a->size() == 1 ? b->size() : a->size();
  Dims result;
  for (size_t i = 0; i < count; ++i) {
    std::optional<SymbolicExpr> value = combine((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!value)
      return success();
    result.push_back(*value);
  }
  shapes.setContents(op->getResult(0), std::move(result));
  return success();
}

LogicalResult AddOp::inferShapes(SymbolicShapes &shapes) {
  return inferBinary(*this, shapes, [](auto a, auto b) { return a + b; });
}
LogicalResult SubOp::inferShapes(SymbolicShapes &shapes) {
  return inferBinary(*this, shapes, [](auto a, auto b) { return a - b; });
}
LogicalResult MulOp::inferShapes(SymbolicShapes &shapes) {
  return inferBinary(*this, shapes, [](auto a, auto b) { return a * b; });
}
LogicalResult SigmoidOp::inferShapes(SymbolicShapes &shapes) { return inferElementwise(*this, shapes); }

} // namespace farskip::onnx
