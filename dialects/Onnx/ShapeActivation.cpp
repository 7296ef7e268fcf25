// Shapes of activation functions, the functions of trigonometry, and operators on bits.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

LogicalResult EluOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult CeluOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult SeluOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult MishOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult HardSigmoidOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult HardSwishOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult LeakyReluOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult SoftsignOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult ThresholdedReluOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult TanOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult AsinOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult AcosOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult AtanOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult SinhOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult CoshOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult AsinhOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult AcoshOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult AtanhOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult ShrinkOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "fi"); }

LogicalResult PReluOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(sameTypes(*this)) || failed(checkKind(*this, getX(), "fi")))
    return failure();
  Dims dims(shapes.shape(getX()));
  std::optional<Dims> wide = shapes.broadcast(dims, shapes.shape(getSlope()));
  bool fits = wide && wide->size() == dims.size();
  for (size_t axis = 0; fits && axis < dims.size(); ++axis)
    fits = !(*wide)[axis].isNever(dims[axis]);
  if (!fits)
    return emitOpError() << "a slope of shape " << shapes.str(shapes.shape(getSlope())) << " does not fit "
                         << shapes.str(dims);
  return inferLike(*this, shapes, getX());
}

LogicalResult SwiGLUOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(sameTypes(*this)) || failed(checkKind(*this, getA(), "f")) ||
      failed(checkRank(*this, shapes, getB(), "B", shapes.rank(getA()), shapes.rank(getA()))))
    return failure();
  for (auto [a, b] : llvm::zip(Dims(shapes.shape(getA())), shapes.shape(getB())))
    if (a.isNever(b))
      return emitOpError() << "inputs have different shapes " << shapes.str(shapes.shape(getA())) << " and "
                           << shapes.str(shapes.shape(getB()));
  return inferLike(*this, shapes, getA());
}

static LogicalResult inferBits(Operation *op, SymbolicShapes &shapes) {
  if (failed(sameTypes(op)) || failed(checkKind(op, op->getOperand(0), "i")))
    return failure();
  return inferElementwise(op, shapes);
}
LogicalResult BitwiseAndOp::inferShapes(SymbolicShapes &shapes) { return inferBits(*this, shapes); }
LogicalResult BitwiseOrOp::inferShapes(SymbolicShapes &shapes) { return inferBits(*this, shapes); }
LogicalResult BitwiseXorOp::inferShapes(SymbolicShapes &shapes) { return inferBits(*this, shapes); }
LogicalResult BitwiseNotOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "i"); }
LogicalResult BitShiftOp::inferShapes(SymbolicShapes &shapes) {
  if (getDirection() != "LEFT" && getDirection() != "RIGHT")
    return emitOpError() << "direction is '" << getDirection() << "', valid are LEFT and RIGHT";
  return inferBits(*this, shapes);
}

LogicalResult BitCastOp::inferShapes(SymbolicShapes &shapes) {
  Type from = elementType(getInput()), to = castType(getContext(), getTo());
  if (!to)
    return emitOpError() << "to = " << getTo() << " is no supported element type";
  // A bool takes a byte.
  auto width = [](Type type) { return std::max(8u, type.getIntOrFloatBitWidth()); };
  if (width(from) != width(to))
    return emitOpError() << "element types " << from << " and " << to << " have different widths";
  shapes.set(getOutput(), to, Dims(shapes.shape(getInput())));
  return success();
}

} // namespace farskip::onnx
