// Lowering of constants.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace mlir;

namespace farskip {

static LogicalResult lowerConstant(onnx::ConstantOp op, OnnxLowering &to) {
  auto dense = cast<DenseElementsAttr>(op.getValueAttr());
  Type element = signlessType(dense.getElementType());
  if (element != dense.getElementType())
    dense = dense.bitcast(element);
  to.set(op.getOutput(), arith::ConstantOp::create(to.builder, to.loc(), dense));
  return success();
}

static LogicalResult lowerWeight(onnx::WeightOp op, OnnxLowering &to) {
  auto weight = onnx::WeightOp::create(to.builder, to.loc(), to.type(op.getOutput()), op.getNameAttr(),
                                       op.getFileAttr(), op.getOffsetAttr(), op.getLengthAttr());
  to.set(op.getOutput(), weight.getOutput());
  return success();
}

void populateConstantLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::ConstantOp>(lowerConstant);
  registry.add<onnx::WeightOp>(lowerWeight);
}

} // namespace farskip
