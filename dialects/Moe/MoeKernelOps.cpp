// What the operations that become kernels of their own check and touch.
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
  if (getUnseen() != "zero" && getUnseen() != "mean" && getUnseen() != "nan")
    return emitOpError() << "unseen is '" << getUnseen() << "', wanted zero, mean or nan";
  if (getResult() && getResult().getType() != getOut().getType())
    return emitOpError() << "the result's type is not that of out";
  return success();
}

LogicalResult PackedMatMulOp::verify() {
  auto shaped = [](Value value) { return cast<ShapedType>(value.getType()); };
  if (getBits() != 2 && getBits() != 4 && getBits() != 8)
    return emitOpError() << "bits is " << getBits() << ", wanted 2, 4 or 8";
  ShapedType a = shaped(getA()), weights = shaped(getWeights()), out = shaped(getOut());
  if (a.getRank() != 2 || weights.getRank() != 3 || shaped(getScales()).getRank() != 2 || out.getRank() != 2)
    return emitOpError() << "wants rows M x K, weights N x blocks x bytes, scales N x blocks and out M x N";
  if (!a.getElementType().isF32() || !out.getElementType().isF32() || !weights.getElementType().isInteger(8))
    return emitOpError() << "wants f32 rows and results and i8 weights";
  if (weights.isDynamicDim(1) || weights.isDynamicDim(2) || weights.getDimSize(2) < 1)
    return emitOpError() << "the extents of the weights are not known";
  int64_t columns = weights.getDimSize(1) * weights.getDimSize(2) * (8 / getBits());
  if (a.getDimSize(1) != columns)
    return emitOpError() << "rows have " << a.getDimSize(1) << " columns, the weights " << columns;
  if (getZeros() && shaped(getZeros()).getRank() != 2)
    return emitOpError() << "the zero points have rank " << shaped(getZeros()).getRank() << ", wanted 2";
  if (getResult() && getResult().getType() != out)
    return emitOpError() << "the result's type is not that of out";
  return success();
}

/// Reads the buffers among the operands and writes the one that takes the result.
static void effectsOf(DestinationStyleOpInterface op,
                      SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

void AttentionOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effectsOf(*this, effects);
}
void PackedMatMulOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effectsOf(*this, effects);
}

} // namespace farskip::moe
