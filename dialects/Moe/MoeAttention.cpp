// What moe.attention checks and touches.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"

using namespace mlir;

namespace farskip::moe {

LogicalResult AttentionOp::verify() {
  auto shaped = [](Value value) { return cast<ShapedType>(value.getType()); };
  Type element = shaped(getQ()).getElementType();
  if (!isa<FloatType>(element))
    return emitOpError() << "element type " << element << " is no float";
  for (Value operand : {getQ(), getK(), getV(), getOut()}) {
    if (shaped(operand).getRank() != 4)
      return emitOpError() << "an operand has rank " << shaped(operand).getRank() << ", wanted 4";
    if (shaped(operand).getElementType() != element)
      return emitOpError() << "element types " << element << " and " << shaped(operand).getElementType() << " differ";
  }
  for (Value numbers : {getOffsets(), getLengths()})
    if (numbers && (shaped(numbers).getRank() != 1 || !shaped(numbers).getElementType().isInteger(64)))
      return emitOpError() << "offsets and lengths must be vectors of i64";
  if (getMask() && shaped(getMask()).getRank() != 4)
    return emitOpError() << "the mask has rank " << shaped(getMask()).getRank() << ", wanted 4";
  if (getSinks() && shaped(getSinks()).getRank() != 1)
    return emitOpError() << "the sinks have rank " << shaped(getSinks()).getRank() << ", wanted 1";
  if (getSinks() && getSmooth())
    return emitOpError() << "sinks and smooth exclude each other";
  if (getResult() && getResult().getType() != getOut().getType())
    return emitOpError() << "the result's type is not that of out";
  return success();
}

void AttentionOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

} // namespace farskip::moe
