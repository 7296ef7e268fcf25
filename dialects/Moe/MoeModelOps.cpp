// Verifiers and shapes of the operations that say what a mixture-of-experts block computes.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"

using namespace farskip;
using namespace farskip::moe;
using namespace mlir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t ExpertsOp::expertCount() { return typeOf(getParams().front()).getDimSize(0); }
int64_t ExpertsOp::slotCount() { return typeOf(getExperts()).getDimSize(1); }

LogicalResult ExpertsOp::verify() {
  RankedTensorType x = typeOf(getX()), weights = typeOf(getWeights()), experts = typeOf(getExperts());
  if (x.getRank() != 2 || weights.getRank() != 2 || experts.getRank() != 2)
    return emitOpError("wants x as T x D and weights and experts as T x K");
  if (!experts.getElementType().isIntOrIndex())
    return emitOpError("wants integers that number the experts, not ") << experts.getElementType();
  if (experts.isDynamicDim(1))
    return emitOpError("wants a known number of experts per token");
  if (weights.getDimSize(1) != experts.getDimSize(1))
    return emitOpError("has ") << weights.getDimSize(1) << " weights and " << experts.getDimSize(1)
                               << " experts per token";
  if (getParams().empty())
    return emitOpError("has no parameters, so the number of experts is unknown");
  Block &block = getBody().front();
  if (block.getNumArguments() != getParams().size() + 1)
    return emitOpError("has ") << getParams().size() << " parameters, its region has " << block.getNumArguments()
                               << " arguments; wanted one more than parameters";
  for (Value param : getParams()) {
    RankedTensorType type = typeOf(param);
    if (type.getRank() < 1 || type.isDynamicDim(0) || type.getDimSize(0) != expertCount())
      return emitOpError("parameter of type ")
             << type << " does not have one slice for each of " << expertCount() << " experts";
  }
  for (auto [param, argument] : llvm::zip(getParams(), block.getArguments().drop_front()))
    if (argument.getType() !=
        RankedTensorType::get(typeOf(param).getShape().drop_front(), typeOf(param).getElementType()))
      return emitOpError("region argument of type ")
             << argument.getType() << " is no slice of a parameter of type " << param.getType();
  auto rows = dyn_cast<RankedTensorType>(block.getArgument(0).getType());
  if (!rows || rows.getRank() != 2 || !rows.isDynamicDim(0) || rows.getDimSize(1) != x.getDimSize(1) ||
      rows.getElementType() != x.getElementType())
    return emitOpError("region argument of type ") << block.getArgument(0).getType() << " is not rows of " << x;
  return success();
}

void ExpertsOp::shapeArguments(SymbolicShapes &shapes) {
  Block &block = getBody().front();
  RankedTensorType x = typeOf(getX());
  shapes.set(block.getArgument(0), x.getElementType(),
             {shapes.fresh(block.getArgument(0), 0), shapes.shape(getX())[1]});
  for (auto [param, argument] : llvm::zip(getParams(), block.getArguments().drop_front())) {
    ArrayRef<SymbolicExpr> dims = shapes.shape(param);
    shapes.set(argument, typeOf(param).getElementType(), Dims(dims.begin() + 1, dims.end()));
  }
}

LogicalResult ExpertsOp::inferShapes(SymbolicShapes &shapes) {
  Block &block = getBody().front();
  shapeArguments(shapes);
  for (Operation &op : block.without_terminator())
    if (auto inferable = dyn_cast<SymbolicShapeOpInterface>(op))
      if (failed(inferable.inferShapes(shapes)))
        return failure();
  Value rows = cast<YieldOp>(block.getTerminator()).getRows();
  if (shapes.rank(rows) != 2 || shapes.shape(rows)[0] != shapes.shape(block.getArgument(0))[0])
    return emitOpError("region yields ") << shapes.str(shapes.shape(rows)) << ", not one row for each of its rows";
  SymbolicExpr tokens = shapes.shape(getX())[0], width = shapes.shape(rows)[1];
  shapes.set(getY(), typeOf(rows).getElementType(), {tokens, width});
  return success();
}

LogicalResult StackOp::verify() {
  if (getParts().empty())
    return emitOpError("has nothing to stack");
  RankedTensorType part = typeOf(getParts().front()), stacked = typeOf(getStacked());
  SmallVector<int64_t> wanted{static_cast<int64_t>(getParts().size())};
  llvm::append_range(wanted, part.getShape());
  if (stacked != RankedTensorType::get(wanted, part.getElementType()))
    return emitOpError("stacks ") << getParts().size() << " tensors of type " << part << ", but gives " << stacked;
  return success();
}

LogicalResult StackOp::inferShapes(SymbolicShapes &shapes) {
  Dims dims{SymbolicExpr(static_cast<int64_t>(getParts().size()))};
  llvm::append_range(dims, shapes.shape(getParts().front()));
  shapes.set(getStacked(), typeOf(getParts().front()).getElementType(), std::move(dims));
  return success();
}

LogicalResult AttendOp::verify() {
  for (Value operand : {getQ(), getK(), getV()}) {
    if (typeOf(operand).getRank() != 4)
      return emitOpError("an operand has rank ") << typeOf(operand).getRank() << ", wanted 4";
    if (typeOf(operand).getElementType() != typeOf(getQ()).getElementType())
      return emitOpError("q, k and v must have one element type");
  }
  if (getMask() && typeOf(getMask()).getRank() != 4)
    return emitOpError("the mask has rank ") << typeOf(getMask()).getRank() << ", wanted 4";
  if (getSinks() && typeOf(getSinks()).getRank() != 1)
    return emitOpError("the sinks have rank ") << typeOf(getSinks()).getRank() << ", wanted 1";
  return success();
}

LogicalResult AttendOp::inferShapes(SymbolicShapes &shapes) {
  ArrayRef<SymbolicExpr> q = shapes.shape(getQ());
  Dims dims{q[0], q[1], q[2], shapes.shape(getV())[3]};
  shapes.set(getY(), typeOf(getQ()).getElementType(), std::move(dims));
  return success();
}
