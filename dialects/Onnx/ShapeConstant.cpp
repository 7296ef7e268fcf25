// Shapes and contents of constants.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

LogicalResult ConstantOp::inferShapes(SymbolicShapes &shapes) {
  auto value = dyn_cast_or_null<DenseElementsAttr>(getValueAttr());
  if (!value)
    return emitOpError() << "has no value";
  Type element = value.getElementType();
  shapes.set(getOutput(), element, Dims(value.getType().getShape()));
  if (!isa<IntegerType>(element) || value.getNumElements() > kMaxTrackedElements)
    return success();
  Dims contents;
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  for (APInt number : value.getValues<APInt>()) {
    if (isUnsigned && number.getActiveBits() > 63)
      return success();
    contents.push_back(isUnsigned ? static_cast<int64_t>(number.getZExtValue()) : number.getSExtValue());
  }
  shapes.setContents(getOutput(), std::move(contents));
  return success();
}

LogicalResult WeightOp::inferShapes(SymbolicShapes &shapes) {
  auto type = cast<RankedTensorType>(getOutput().getType());
  shapes.set(getOutput(), type.getElementType(), Dims(type.getShape()));
  return success();
}

} // namespace farskip::onnx
