// Lowering of activation functions and the functions of trigonometry.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/Scalars.h"

using namespace mlir;

namespace farskip {

namespace {

template <typename OpT, typename MathOp> LogicalResult lowerMath(OpT op, OnnxLowering &to) {
  return unaryFloat(op, to, [](Scalars &s, Value x) { return s.make<MathOp>(x); });
}

Value isNegative(Scalars &s, Value x) { return s.less(x, s.real(x.getType(), 0)); }

LogicalResult lowerElu(onnx::EluOp op, OnnxLowering &to) {
  double alpha = op.getAlpha().convertToFloat();
  return unaryFloat(op, to, [&](Scalars &s, Value x) {
    return s.select(isNegative(s, x), s.scaled(s.make<math::ExpM1Op>(x), alpha), x);
  });
}

LogicalResult lowerCelu(onnx::CeluOp op, OnnxLowering &to) {
  double alpha = op.getAlpha().convertToFloat();
  return unaryFloat(op, to, [&](Scalars &s, Value x) {
    Value ratio = s.make<arith::DivFOp>(x, s.real(x.getType(), alpha));
    return s.select(isNegative(s, x), s.scaled(s.make<math::ExpM1Op>(ratio), alpha), x);
  });
}

LogicalResult lowerSelu(onnx::SeluOp op, OnnxLowering &to) {
  double alpha = op.getAlpha().convertToFloat(), gamma = op.getGamma().convertToFloat();
  return unaryFloat(op, to, [&](Scalars &s, Value x) {
    return s.scaled(s.select(isNegative(s, x), s.scaled(s.make<math::ExpM1Op>(x), alpha), x), gamma);
  });
}

LogicalResult lowerMish(onnx::MishOp op, OnnxLowering &to) {
  return unaryFloat(op, to, [](Scalars &s, Value x) { return s.mul(x, s.make<math::TanhOp>(s.softplus(x))); });
}

LogicalResult lowerHardSigmoid(onnx::HardSigmoidOp op, OnnxLowering &to) {
  double alpha = op.getAlpha().convertToFloat(), beta = op.getBeta().convertToFloat();
  return unaryFloat(op, to,
                    [&](Scalars &s, Value x) { return s.unit(s.add(s.scaled(x, alpha), s.real(x.getType(), beta))); });
}

LogicalResult lowerHardSwish(onnx::HardSwishOp op, OnnxLowering &to) {
  return unaryFloat(op, to, [](Scalars &s, Value x) {
    return s.mul(x, s.unit(s.add(s.scaled(x, 1.0 / 6), s.real(x.getType(), 0.5))));
  });
}

LogicalResult lowerLeakyRelu(onnx::LeakyReluOp op, OnnxLowering &to) {
  double alpha = op.getAlpha().convertToFloat();
  return unaryFloat(op, to, [&](Scalars &s, Value x) { return s.select(isNegative(s, x), s.scaled(x, alpha), x); });
}

LogicalResult lowerPRelu(onnx::PReluOp op, OnnxLowering &to) {
  bool natural = isUnsignedElement(op.getX());
  to.elementwise({op.getX(), op.getSlope()}, op.getY(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    if (isa<FloatType>(x[0].getType())) {
      Value wide = s.widen(x[0]);
      return s.narrow(s.select(isNegative(s, wide), s.mul(wide, s.widen(x[1])), wide), x[0].getType());
    }
    if (natural)
      return x[0];
    Value negative = s.make<arith::CmpIOp>(arith::CmpIPredicate::slt, x[0], s.integer(x[0].getType(), 0));
    return s.select(negative, s.make<arith::MulIOp>(x[0], x[1]), x[0]);
  });
  return success();
}

LogicalResult lowerSoftsign(onnx::SoftsignOp op, OnnxLowering &to) {
  return unaryFloat(op, to, [](Scalars &s, Value x) {
    return s.make<arith::DivFOp>(x, s.add(s.make<math::AbsFOp>(x), s.real(x.getType(), 1)));
  });
}

LogicalResult lowerThresholdedRelu(onnx::ThresholdedReluOp op, OnnxLowering &to) {
  double alpha = op.getAlpha().convertToFloat();
  return unaryFloat(op, to, [&](Scalars &s, Value x) {
    return s.select(s.less(s.real(x.getType(), alpha), x), x, s.real(x.getType(), 0));
  });
}

/// Integers are computed in f64.
LogicalResult lowerShrink(onnx::ShrinkOp op, OnnxLowering &to) {
  double limit = op.getLambd().convertToFloat(), bias = op.getBias().convertToFloat();
  Type onnxType = getElementTypeOrSelf(op.getInput().getType());
  to.elementwise({op.getInput()}, op.getOutput(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    bool real = isa<FloatType>(x[0].getType());
    Value wide = real ? s.widen(x[0]) : OnnxLowering::castScalar(b, loc, x[0], onnxType, b.getF64Type());
    Type type = wide.getType();
    Value low = s.add(wide, s.real(type, bias)), high = s.add(wide, s.real(type, -bias)), none = s.real(type, 0);
    Value y =
        s.select(s.less(wide, s.real(type, -limit)), low, s.select(s.less(s.real(type, limit), wide), high, none));
    return real ? s.narrow(y, x[0].getType()) : OnnxLowering::castScalar(b, loc, y, type, onnxType);
  });
  return success();
}

LogicalResult lowerSwiGLU(onnx::SwiGLUOp op, OnnxLowering &to) {
  double alpha = op.getAlpha().convertToFloat();
  Dims a(to.shapes.shape(op.getA())), other(to.shapes.shape(op.getB()));
  for (auto [axis, dim] : llvm::enumerate(a)) {
    if (dim == other[axis])
      continue;
    Value have = to.sizeValue(dim), want = to.sizeValue(other[axis]);
    to.check(arith::CmpIOp::create(to.builder, to.loc(), arith::CmpIPredicate::eq, have, want),
             "the inputs have extents {0} and {1} along axis " + Twine(axis), {have, want});
  }
  to.elementwise({op.getA(), op.getB()}, op.getY(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    Value gate = s.widen(x[0]);
    return s.narrow(s.mul(s.mul(gate, s.sigmoid(s.scaled(gate, alpha))), s.widen(x[1])), x[0].getType());
  });
  return success();
}

} // namespace

void populateActivationLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::EluOp>(lowerElu);
  registry.add<onnx::CeluOp>(lowerCelu);
  registry.add<onnx::SeluOp>(lowerSelu);
  registry.add<onnx::MishOp>(lowerMish);
  registry.add<onnx::HardSigmoidOp>(lowerHardSigmoid);
  registry.add<onnx::HardSwishOp>(lowerHardSwish);
  registry.add<onnx::LeakyReluOp>(lowerLeakyRelu);
  registry.add<onnx::PReluOp>(lowerPRelu);
  registry.add<onnx::SoftsignOp>(lowerSoftsign);
  registry.add<onnx::ThresholdedReluOp>(lowerThresholdedRelu);
  registry.add<onnx::ShrinkOp>(lowerShrink);
  registry.add<onnx::SwiGLUOp>(lowerSwiGLU);
  registry.add<onnx::TanOp>(lowerMath<onnx::TanOp, math::TanOp>);
  registry.add<onnx::AsinOp>(lowerMath<onnx::AsinOp, math::AsinOp>);
  registry.add<onnx::AcosOp>(lowerMath<onnx::AcosOp, math::AcosOp>);
  registry.add<onnx::AtanOp>(lowerMath<onnx::AtanOp, math::AtanOp>);
  registry.add<onnx::SinhOp>(lowerMath<onnx::SinhOp, math::SinhOp>);
  registry.add<onnx::CoshOp>(lowerMath<onnx::CoshOp, math::CoshOp>);
  registry.add<onnx::AsinhOp>(lowerMath<onnx::AsinhOp, math::AsinhOp>);
  registry.add<onnx::AcoshOp>(lowerMath<onnx::AcoshOp, math::AcoshOp>);
  registry.add<onnx::AtanhOp>(lowerMath<onnx::AtanhOp, math::AtanhOp>);
}

} // namespace farskip
