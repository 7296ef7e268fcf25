// Lowering of constants.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace mlir;

namespace farskip {

static LogicalResult lowerConstant(onnx::ConstantOp op, OnnxLowering &to) {
  auto dense = cast<DenseElementsAttr>(op.getValueAttr());
  Type given = dense.getElementType(), element = signlessType(given);
  if (element != given && element.getIntOrFloatBitWidth() != given.getIntOrFloatBitWidth())
    dense = dense.mapValues(
        element, [&](const APInt &number) { return given.isUnsignedInteger() ? number.zext(8) : number.sext(8); });
  else if (element != given)
    dense = dense.bitcast(element);
  to.set(op.getOutput(), arith::ConstantOp::create(to.builder, to.loc(), dense));
  return success();
}

/// Numbers of 2 or 4 bits, several to a byte in the file, the first in the lowest bits: a byte each.
static Value unpackWeight(onnx::WeightOp op, OnnxLowering &to, unsigned width, bool isUnsigned) {
  OpBuilder &b = to.builder;
  auto packed = RankedTensorType::get({static_cast<int64_t>(op.getLength())}, b.getI8Type());
  Value bytes = onnx::WeightOp::create(b, to.loc(), packed, op.getNameAttr(), op.getFileAttr(), op.getOffsetAttr(),
                                       op.getLengthAttr())
                    .getOutput();
  Dims dims(to.shapes.shape(op.getOutput())), flat{to.shapes.elements(op.getOutput())};
  Value numbers = to.generate(flat, b.getI8Type(), [&](OpBuilder &in, Location loc, ArrayRef<Value> i) -> Value {
    auto index = [&](int64_t n) -> Value { return arith::ConstantIndexOp::create(in, loc, n); };
    auto number = [&](int64_t n) -> Value { return arith::ConstantIntOp::create(in, loc, in.getI8Type(), n); };
    Value pack = index(8 / width);
    Value byte = tensor::ExtractOp::create(in, loc, bytes, ValueRange{arith::DivUIOp::create(in, loc, i[0], pack)});
    Value place = arith::IndexCastOp::create(in, loc, in.getI8Type(), arith::RemUIOp::create(in, loc, i[0], pack));
    // To the top of the byte and down again, which extends the sign.
    Value above =
        arith::SubIOp::create(in, loc, number(8 - width), arith::MulIOp::create(in, loc, place, number(width)));
    Value high = arith::ShLIOp::create(in, loc, byte, above);
    if (isUnsigned)
      return arith::ShRUIOp::create(in, loc, high, number(8 - width));
    return arith::ShRSIOp::create(in, loc, high, number(8 - width));
  });
  return to.reshape(numbers, flat, dims);
}

static LogicalResult lowerWeight(onnx::WeightOp op, OnnxLowering &to) {
  Type element = getElementTypeOrSelf(op.getOutput().getType());
  if (unsigned width = element.getIntOrFloatBitWidth(); width < 8 && width > 1) {
    to.set(op.getOutput(), unpackWeight(op, to, width, element.isUnsignedInteger()));
    return success();
  }
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
