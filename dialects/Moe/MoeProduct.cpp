// What the products with packed weights check and touch.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace farskip::moe {

int64_t PackOp::rows() { return cast<ShapedType>(getPacked().getType()).getShape().end()[-2]; }

int64_t PackOp::columns() {
  return cast<ShapedType>(getWeight().getType()).getShape().end()[getTransposed() ? -2 : -1];
}

LogicalResult PackOp::verify() {
  auto weight = cast<RankedTensorType>(getWeight().getType()), packed = cast<RankedTensorType>(getPacked().getType());
  if (weight.getRank() < 2 || weight.getRank() > 3)
    return emitOpError() << "the weight has rank " << weight.getRank() << ", wanted 2 or 3";
  SmallVector<int64_t> shape(weight.getShape().drop_back(2));
  ArrayRef<int64_t> matrix = weight.getShape().take_back(2);
  int64_t k = matrix[getTransposed() ? 1 : 0], n = matrix[getTransposed() ? 0 : 1], block = packed.getShape().back();
  shape.append({block > 0 ? int64_t(llvm::divideCeil(n, block)) : 0, k, block});
  auto wanted = RankedTensorType::get(shape, weight.getElementType());
  if (packed != wanted)
    return emitOpError() << "the packed weight is " << packed << ", wanted " << wanted;
  return success();
}

LogicalResult ProductOp::verify() {
  auto shaped = [](Value value) { return cast<ShapedType>(value.getType()); };
  ShapedType x = shaped(getX()), w = shaped(getW()), out = shaped(getOut());
  if (x.getRank() != 2 || out.getRank() != 2 || w.getRank() != 3)
    return emitOpError() << "operands have ranks " << x.getRank() << ", " << w.getRank() << ", " << out.getRank()
                         << ", wanted 2, 3, 2";
  if (!x.getElementType().isF32() || !out.getElementType().isF32())
    return emitOpError() << "element types " << x.getElementType() << " and " << out.getElementType() << ", wanted f32";
  Type element = w.getElementType();
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return emitOpError() << "element type " << element << " of the weight, wanted f32, f16 or bf16";
  if (w.isDynamicDim(2))
    return emitOpError() << "the width of the panels is not known";
  if (getResult() && getResult().getType() != getOut().getType())
    return emitOpError() << "the result's type is not that of out";
  return success();
}

void ProductOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
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
