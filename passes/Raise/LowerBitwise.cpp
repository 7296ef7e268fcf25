// Lowering of operators on the bits of integers.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/Scalars.h"

using namespace mlir;

namespace farskip {

namespace {

template <typename OpT, typename IntOp> LogicalResult lowerBits(OpT op, OnnxLowering &to) {
  to.elementwise({op.getA(), op.getB()}, op.getC(),
                 [](OpBuilder &b, Location loc, ValueRange x) -> Value { return IntOp::create(b, loc, x[0], x[1]); });
  return success();
}

LogicalResult lowerBitwiseNot(onnx::BitwiseNotOp op, OnnxLowering &to) {
  to.elementwise({op.getX()}, op.getY(), [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    return s.make<arith::XOrIOp>(x[0], s.integer(x[0].getType(), -1));
  });
  return success();
}

/// A shift by the width or more is a shift to the end: the sign, or nothing, is left.
LogicalResult lowerBitShift(onnx::BitShiftOp op, OnnxLowering &to) {
  bool left = op.getDirection() == "LEFT", natural = isUnsignedElement(op.getX());
  to.elementwise({op.getX(), op.getY()}, op.getZ(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    Type type = x[0].getType();
    int64_t width = type.getIntOrFloatBitWidth();
    // Negative counts are large unsigned ones.
    Value inside = s.make<arith::CmpIOp>(arith::CmpIPredicate::ult, x[1], s.integer(type, width));
    Value count = s.select(inside, x[1], s.integer(type, left || natural ? 0 : width - 1));
    if (!left && !natural)
      return s.make<arith::ShRSIOp>(x[0], count);
    Value shifted = left ? s.make<arith::ShLIOp>(x[0], count) : s.make<arith::ShRUIOp>(x[0], count);
    return s.select(inside, shifted, s.integer(type, 0));
  });
  return success();
}

LogicalResult lowerBitCast(onnx::BitCastOp op, OnnxLowering &to) {
  Type from = to.type(op.getInput()).getElementType(), target = to.type(op.getOutput()).getElementType();
  if (from == target) {
    to.set(op.getOutput(), to.value(op.getInput()));
    return success();
  }
  to.elementwise({op.getInput()}, op.getOutput(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    Value bits = from.isInteger(1) ? s.make<arith::ExtUIOp>(b.getI8Type(), x[0]) : x[0];
    if (target.isInteger(1))
      return s.make<arith::CmpIOp>(arith::CmpIPredicate::ne, bits, s.integer(bits.getType(), 0));
    return bits.getType() == target ? bits : s.make<arith::BitcastOp>(target, bits);
  });
  return success();
}

LogicalResult lowerIsInf(onnx::IsInfOp op, OnnxLowering &to) {
  auto type = cast<FloatType>(to.type(op.getX()).getElementType());
  to.elementwise({op.getX()}, op.getY(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Value found = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
    for (bool negative : {false, true}) {
      if (!(negative ? op.getDetectNegative() : op.getDetectPositive()))
        continue;
      Value limit =
          arith::ConstantOp::create(b, loc, b.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics(), negative)));
      Value hit = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x[0], limit);
      found = arith::OrIOp::create(b, loc, found, hit);
    }
    return found;
  });
  return success();
}

} // namespace

void populateBitwiseLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::BitwiseAndOp>(lowerBits<onnx::BitwiseAndOp, arith::AndIOp>);
  registry.add<onnx::BitwiseOrOp>(lowerBits<onnx::BitwiseOrOp, arith::OrIOp>);
  registry.add<onnx::BitwiseXorOp>(lowerBits<onnx::BitwiseXorOp, arith::XOrIOp>);
  registry.add<onnx::BitwiseNotOp>(lowerBitwiseNot);
  registry.add<onnx::BitShiftOp>(lowerBitShift);
  registry.add<onnx::BitCastOp>(lowerBitCast);
  registry.add<onnx::IsInfOp>(lowerIsInf);
}

} // namespace farskip
