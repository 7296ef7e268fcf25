// Shapes of reductions, softmax, running sums and Gemm.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

static LogicalResult inferReduce(Operation *op, SymbolicShapes &shapes, bool keep, bool noop) {
  Value data = op->getOperand(0);
  Dims input(shapes.shape(data)), dims;
  SmallVector<bool> reduced(input.size(), false);
  std::optional<SmallVector<int64_t>> axes = SmallVector<int64_t>();
  if (op->getNumOperands() > 1)
    axes = shapes.constants(op->getOperand(1));
  if (!axes) {
    FailureOr<int64_t> rank = input.size();
    if (!keep)
      rank = rankByAxes(op, shapes, op->getOperand(1), input.size(), false);
    else if (failed(checkRank(op, shapes, op->getOperand(1), "the axes", 1, 1)))
      return failure();
    if (failed(rank))
      return failure();
    setUnknown(shapes, op->getResult(0), elementType(data), *rank);
    return success();
  }
  if (elementType(data).isInteger(1) && op->getName().stripDialect() != "ReduceMax" &&
      op->getName().stripDialect() != "ReduceMin")
    return op->emitOpError() << "does not take element type bool";
  for (int64_t axis : *axes) {
    FailureOr<int64_t> normal = normalizeAxis(op, axis, input.size());
    if (failed(normal))
      return failure();
    if (reduced[*normal])
      return op->emitOpError() << "axis " << axis << " is given twice";
    reduced[*normal] = true;
  }
  if (axes->empty() && !noop)
    reduced.assign(input.size(), true);
  for (size_t i = 0; i < input.size(); ++i) {
    if (!reduced[i])
      dims.push_back(input[i]);
    else if (keep)
      dims.push_back(1);
  }
  shapes.set(op->getResult(0), elementType(data), std::move(dims));
  const Dims *known = shapes.contents(data);
  if (!known || input.size() != 1 || !reduced[0])
    return success();
  StringRef name = op->getName().stripDialect();
  SymbolicExpr result(name == "ReduceProd" ? 1 : 0);
  if (name == "ReduceProd" || name == "ReduceSum")
    for (const SymbolicExpr &value : *known)
      result = name == "ReduceProd" ? result * value : result + value;
  else if (name == "ReduceMax" && !known->empty()) {
    result = (*known)[0];
    for (const SymbolicExpr &value : *known) {
      if (!result.isNonNegative() || !value.isNonNegative())
        return success();
      result = shapes.max(result, value);
    }
  } else {
    return success();
  }
  shapes.setContents(op->getResult(0), {result});
  return success();
}

LogicalResult ReduceSumOp::inferShapes(SymbolicShapes &s) {
  return inferReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}
LogicalResult ReduceMeanOp::inferShapes(SymbolicShapes &s) {
  return inferReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}
LogicalResult ReduceMaxOp::inferShapes(SymbolicShapes &s) {
  return inferReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}
LogicalResult ReduceMinOp::inferShapes(SymbolicShapes &s) {
  return inferReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}
LogicalResult ReduceProdOp::inferShapes(SymbolicShapes &s) {
  return inferReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}
LogicalResult ReduceL1Op::inferShapes(SymbolicShapes &s) {
  return inferReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}
LogicalResult ReduceL2Op::inferShapes(SymbolicShapes &s) {
  return inferReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}
LogicalResult ReduceSumSquareOp::inferShapes(SymbolicShapes &s) {
  return inferReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}

static LogicalResult inferLogReduce(Operation *op, SymbolicShapes &shapes, bool keep, bool noop) {
  if (!isa<FloatType>(elementType(op->getOperand(0))))
    return op->emitOpError() << "does not take element type " << elementType(op->getOperand(0));
  return inferReduce(op, shapes, keep, noop);
}
LogicalResult ReduceLogSumOp::inferShapes(SymbolicShapes &s) {
  return inferLogReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}
LogicalResult ReduceLogSumExpOp::inferShapes(SymbolicShapes &s) {
  return inferLogReduce(*this, s, getKeepdims(), getNoopWithEmptyAxes());
}

static LogicalResult inferSoftmax(Operation *op, SymbolicShapes &shapes, int64_t axis) {
  if (!isa<FloatType>(elementType(op->getOperand(0))))
    return op->emitOpError() << "does not take element type " << elementType(op->getOperand(0));
  if (failed(normalizeAxis(op, axis, shapes.rank(op->getOperand(0)))))
    return failure();
  return inferLike(op, shapes, op->getOperand(0));
}
LogicalResult SoftmaxOp::inferShapes(SymbolicShapes &shapes) { return inferSoftmax(*this, shapes, getAxis()); }
LogicalResult LogSoftmaxOp::inferShapes(SymbolicShapes &shapes) { return inferSoftmax(*this, shapes, getAxis()); }

LogicalResult CumSumOp::inferShapes(SymbolicShapes &shapes) {
  if (!shapes.elements(getAxis()).isConstant(1) && shapes.elements(getAxis()).constant())
    return emitOpError() << "axis has shape " << shapes.str(shapes.shape(getAxis())) << ", wanted a scalar";
  if (auto axis = shapes.constants(getAxis()))
    if (failed(normalizeAxis(*this, (*axis)[0], shapes.rank(getX()))))
      return failure();
  return inferLike(*this, shapes, getX());
}

LogicalResult GemmOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(checkRank(*this, shapes, getA(), "A", 2, 2)) || failed(checkRank(*this, shapes, getB(), "B", 2, 2)))
    return failure();
  Dims a(shapes.shape(getA())), b(shapes.shape(getB()));
  if (getTransA())
    std::swap(a[0], a[1]);
  if (getTransB())
    std::swap(b[0], b[1]);
  if (a[1].isNever(b[0]))
    return emitOpError() << "inner dimensions " << shapes.str(a[1]) << " and " << shapes.str(b[0]) << " differ";
  Dims y{a[0], b[1]};
  if (getC()) {
    std::optional<Dims> sum = shapes.broadcast(y, shapes.shape(getC()));
    if (!sum || sum->size() != 2)
      return emitOpError() << "C of shape " << shapes.str(shapes.shape(getC())) << " does not fit " << shapes.str(y);
  }
  shapes.set(getY(), elementType(getA()), std::move(y));
  return success();
}

} // namespace farskip::onnx
