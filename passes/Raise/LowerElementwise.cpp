// Lowering of elementwise operators.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/Gelu.h"
#include "passes/Raise/Scalars.h"

using namespace mlir;

namespace farskip {

namespace {

template <typename OpT, typename MathOp> LogicalResult lowerMath(OpT op, OnnxLowering &to) {
  return unaryFloat(op, to, [](Scalars &s, Value x) { return s.make<MathOp>(x); });
}

/// A binary operator with one scalar operation for floats and one for integers.
template <typename OpT, typename FloatOp, typename IntOp> LogicalResult lowerArithmetic(OpT op, OnnxLowering &to) {
  to.elementwise({op.getA(), op.getB()}, op.getC(), [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    if (isa<FloatType>(x[0].getType()))
      return s.narrow(s.make<FloatOp>(s.widen(x[0]), s.widen(x[1])), x[0].getType());
    return s.make<IntOp>(x[0], x[1]);
  });
  return success();
}

/// Ends the run when an integer divisor is zero.
void checkDivisor(OnnxLowering &to, Value divisor) {
  if (!isa<IntegerType>(to.type(divisor).getElementType()))
    return;
  if (auto known = to.shapes.constants(divisor))
    if (llvm::none_of(*known, [](int64_t value) { return value == 0; }))
      return;
  Dims dims(to.shapes.shape(divisor));
  SmallVector<bool> all(dims.size(), true);
  OpBuilder &b = to.builder;
  Value none = arith::ConstantOp::create(b, to.loc(), b.getBoolAttr(true));
  Value good = to.reduce(to.value(divisor), dims, all, none, [](OpBuilder &in, Location at, ValueRange x) -> Value {
    Value zero = arith::ConstantOp::create(in, at, in.getIntegerAttr(x[0].getType(), 0));
    return arith::AndIOp::create(in, at, x[1], arith::CmpIOp::create(in, at, arith::CmpIPredicate::ne, x[0], zero));
  });
  to.check(tensor::ExtractOp::create(b, to.loc(), good, ValueRange{}), "an integer is divided by zero");
}

/// Division that is defined for the least number by −1: the divisor −1 negates, wrapping.
Value divideSigned(Scalars &s, Value x, Value y, Value &remainder) {
  Value minusOne = s.integer(y.getType(), -1);
  Value negate = s.make<arith::CmpIOp>(arith::CmpIPredicate::eq, y, minusOne);
  Value zero = s.integer(y.getType(), 0), one = s.integer(y.getType(), 1);
  Value isZero = s.make<arith::CmpIOp>(arith::CmpIPredicate::eq, y, zero);
  Value safe = s.make<arith::SelectOp>(s.make<arith::OrIOp>(negate, isZero), one, y);
  remainder = s.make<arith::SelectOp>(negate, zero, s.make<arith::RemSIOp>(x, safe));
  return s.make<arith::SelectOp>(negate, s.make<arith::SubIOp>(zero, x), s.make<arith::DivSIOp>(x, safe));
}

LogicalResult lowerDiv(onnx::DivOp op, OnnxLowering &to) {
  checkDivisor(to, op.getB());
  bool natural = isUnsignedElement(op.getA());
  to.elementwise({op.getA(), op.getB()}, op.getC(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    if (isa<FloatType>(x[0].getType()))
      return s.narrow(s.make<arith::DivFOp>(s.widen(x[0]), s.widen(x[1])), x[0].getType());
    Value rest;
    if (!natural)
      return divideSigned(s, x[0], x[1], rest);
    Value one = s.integer(x[1].getType(), 1);
    return s.make<arith::DivUIOp>(x[0], s.make<arith::MaxUIOp>(x[1], one));
  });
  return success();
}

LogicalResult lowerMod(onnx::ModOp op, OnnxLowering &to) {
  checkDivisor(to, op.getB());
  bool natural = isUnsignedElement(op.getA()), fmod = op.getFmod();
  to.elementwise({op.getA(), op.getB()}, op.getC(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    Type type = x[0].getType();
    if (isa<FloatType>(type))
      return s.narrow(s.make<arith::RemFOp>(s.widen(x[0]), s.widen(x[1])), type);
    if (natural)
      return s.make<arith::RemUIOp>(x[0], s.make<arith::MaxUIOp>(x[1], s.integer(type, 1)));
    Value rest, zero = s.integer(type, 0);
    divideSigned(s, x[0], x[1], rest);
    if (fmod)
      return rest;
    // The sign of the divisor.
    Value differs = s.make<arith::CmpIOp>(arith::CmpIPredicate::slt, s.make<arith::XOrIOp>(rest, x[1]), zero);
    Value some = s.make<arith::CmpIOp>(arith::CmpIPredicate::ne, rest, zero);
    return s.make<arith::SelectOp>(s.make<arith::AndIOp>(differs, some), s.make<arith::AddIOp>(rest, x[1]), rest);
  });
  return success();
}

/// By squaring; a negative exponent is 0 unless the base is 1 or −1.
Value integerPower(Scalars &s, Value base, Value exponent) {
  Type type = base.getType();
  Value zero = s.integer(type, 0), one = s.integer(type, 1);
  Value wide = exponent.getType() == type ? exponent
               : cast<IntegerType>(exponent.getType()).getWidth() < cast<IntegerType>(type).getWidth()
                   ? s.make<arith::ExtSIOp>(type, exponent)
                   : s.make<arith::TruncIOp>(type, exponent);
  Value result = one, square = base;
  Value count = s.make<arith::MaxSIOp>(wide, zero);
  // 64 steps would be needed for 64-bit exponents; results of exponents above 63 only matter for 0, 1 and −1, and the
  // parity decides those.
  for (int bit = 0; bit < 6; ++bit) {
    Value set = s.make<arith::AndIOp>(s.make<arith::ShRUIOp>(count, s.integer(type, bit)), one);
    Value use = s.make<arith::CmpIOp>(arith::CmpIPredicate::ne, set, zero);
    result = s.make<arith::SelectOp>(use, s.make<arith::MulIOp>(result, square), result);
    square = s.make<arith::MulIOp>(square, square);
  }
  Value minusOne = s.integer(type, -1);
  Value odd = s.make<arith::CmpIOp>(arith::CmpIPredicate::ne, s.make<arith::AndIOp>(wide, one), zero);
  Value ofUnit =
      s.make<arith::SelectOp>(s.make<arith::CmpIOp>(arith::CmpIPredicate::eq, base, one), one,
                              s.make<arith::SelectOp>(s.make<arith::CmpIOp>(arith::CmpIPredicate::eq, base, minusOne),
                                                      s.make<arith::SelectOp>(odd, minusOne, one), zero));
  Value negative = s.make<arith::CmpIOp>(arith::CmpIPredicate::slt, wide, zero);
  return s.make<arith::SelectOp>(negative, ofUnit, result);
}

LogicalResult lowerPow(onnx::PowOp op, OnnxLowering &to) {
  Type exponentType = getElementTypeOrSelf(op.getB().getType());
  FloatAttr constant;
  DenseElementsAttr exponent;
  if (matchPattern(to.value(op.getB()), m_Constant(&exponent)) && exponent.isSplat() &&
      isa<FloatType>(exponent.getElementType()))
    constant = FloatAttr::get(exponent.getElementType(), exponent.getSplatValue<APFloat>());
  bool squared = constant && constant.getValueAsDouble() == 2.0;
  to.elementwise({op.getA(), op.getB()}, op.getC(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    Type type = x[0].getType();
    if (isa<IntegerType>(type) && isa<IntegerType>(x[1].getType()))
      return integerPower(s, x[0], x[1]);
    Type wide = isa<FloatType>(type) ? s.widen(x[0]).getType() : b.getF64Type();
    Value base = isa<FloatType>(type) ? s.widen(x[0]) : s.make<arith::SIToFPOp>(wide, x[0]);
    if (squared && isa<FloatType>(type))
      return s.narrow(s.make<arith::MulFOp>(base, base), type);
    Value power = OnnxLowering::castScalar(b, loc, x[1], exponentType, wide);
    Value result = s.make<math::PowFOp>(base, power);
    if (isa<FloatType>(type))
      return s.narrow(result, type);
    return OnnxLowering::castScalar(b, loc, result, wide, type);
  });
  return success();
}

/// Sum and Mean of broadcast operands, in order; narrow floats are added in f32.
template <typename OpT, bool Mean> LogicalResult lowerVariadicSum(OpT op, OnnxLowering &to) {
  SmallVector<Value> operands(op.getData());
  to.elementwise(operands, op.getResult(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    Value sum = s.widen(x[0]);
    for (Value other : x.drop_front())
      sum = s.make<arith::AddFOp>(sum, s.widen(other));
    if (Mean)
      sum = s.make<arith::DivFOp>(sum, s.real(sum.getType(), x.size()));
    return s.narrow(sum, x[0].getType());
  });
  return success();
}

template <typename OpT, arith::CmpFPredicate F, arith::CmpIPredicate I, arith::CmpIPredicate U>
LogicalResult lowerCompare(OpT op, OnnxLowering &to) {
  bool natural = isUnsignedElement(op.getA());
  to.elementwise({op.getA(), op.getB()}, op.getC(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    if (isa<FloatType>(x[0].getType()))
      return arith::CmpFOp::create(b, loc, F, x[0], x[1]);
    return arith::CmpIOp::create(b, loc, natural ? U : I, x[0], x[1]);
  });
  return success();
}

template <typename OpT, typename IntOp> LogicalResult lowerLogic(OpT op, OnnxLowering &to) {
  to.elementwise({op.getA(), op.getB()}, op.getC(),
                 [](OpBuilder &b, Location loc, ValueRange x) -> Value { return IntOp::create(b, loc, x[0], x[1]); });
  return success();
}

template <typename OpT, typename FloatOp, typename SignedOp, typename UnsignedOp>
LogicalResult lowerExtreme(OpT op, OnnxLowering &to) {
  SmallVector<Value> operands(op.getData());
  bool natural = isUnsignedElement(operands[0]);
  to.elementwise(operands, op.getResult(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    Value result = x[0];
    for (Value other : x.drop_front()) {
      if (isa<FloatType>(result.getType()))
        result = s.make<FloatOp>(result, other);
      else
        result = natural ? s.make<UnsignedOp>(result, other) : s.make<SignedOp>(result, other);
    }
    return result;
  });
  return success();
}

LogicalResult lowerClip(onnx::ClipOp op, OnnxLowering &to) {
  Dims dims(to.shapes.shape(op.getInput())), scalar;
  SmallVector<OnnxLowering::Operand> operands{{to.value(op.getInput()), dims}};
  auto bound = [&](Value onnx) {
    if (!onnx)
      return;
    Dims from(to.shapes.shape(onnx));
    operands.push_back({to.reshape(to.value(onnx), from, scalar), scalar});
  };
  bound(op.getMin());
  bound(op.getMax());
  bool natural = isUnsignedElement(op.getInput());
  to.set(op.getOutput(), to.elementwise(operands, dims, to.type(op.getInput()).getElementType(),
                                        [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
                                          Scalars s{b, loc};
                                          Value y = x[0];
                                          bool real = isa<FloatType>(y.getType());
                                          size_t next = 1;
                                          if (op.getMin()) {
                                            Value low = x[next++];
                                            y = real      ? s.make<arith::MaximumFOp>(y, low)
                                                : natural ? s.make<arith::MaxUIOp>(y, low)
                                                          : s.make<arith::MaxSIOp>(y, low);
                                          }
                                          if (op.getMax()) {
                                            Value high = x[next];
                                            y = real      ? s.make<arith::MinimumFOp>(y, high)
                                                : natural ? s.make<arith::MinUIOp>(y, high)
                                                          : s.make<arith::MinSIOp>(y, high);
                                          }
                                          return y;
                                        }));
  return success();
}

template <typename OpT> LogicalResult lowerCast(OpT op, OnnxLowering &to) {
  Type from = getElementTypeOrSelf(op.getInput().getType()), target = getElementTypeOrSelf(op.getOutput().getType());
  if (signlessType(from) == signlessType(target)) {
    to.set(op.getOutput(), to.value(op.getInput()));
    return success();
  }
  to.elementwise({op.getInput()}, op.getOutput(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    return OnnxLowering::castScalar(b, loc, x[0], from, target);
  });
  return success();
}

LogicalResult lowerIdentity(onnx::IdentityOp op, OnnxLowering &to) {
  to.set(op.getY(), to.value(op.getX()));
  return success();
}

LogicalResult lowerWhere(onnx::WhereOp op, OnnxLowering &to) {
  to.elementwise({op.getCondition(), op.getX(), op.getY()}, op.getOutput(),
                 [](OpBuilder &b, Location loc, ValueRange x) -> Value {
                   return arith::SelectOp::create(b, loc, x[0], x[1], x[2]);
                 });
  return success();
}

LogicalResult lowerNeg(onnx::NegOp op, OnnxLowering &to) {
  to.elementwise({op.getX()}, op.getY(), [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    if (isa<FloatType>(x[0].getType()))
      return s.make<arith::NegFOp>(x[0]);
    return s.make<arith::SubIOp>(s.integer(x[0].getType(), 0), x[0]);
  });
  return success();
}

LogicalResult lowerNot(onnx::NotOp op, OnnxLowering &to) {
  to.elementwise({op.getX()}, op.getY(), [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    return s.make<arith::XOrIOp>(x[0], s.integer(x[0].getType(), 1));
  });
  return success();
}

LogicalResult lowerAbs(onnx::AbsOp op, OnnxLowering &to) {
  bool natural = isUnsignedElement(op.getX());
  to.elementwise({op.getX()}, op.getY(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    if (isa<FloatType>(x[0].getType()))
      return s.make<math::AbsFOp>(x[0]);
    return natural ? x[0] : s.make<math::AbsIOp>(x[0]);
  });
  return success();
}

LogicalResult lowerSign(onnx::SignOp op, OnnxLowering &to) {
  bool natural = isUnsignedElement(op.getX());
  to.elementwise({op.getX()}, op.getY(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    Type type = x[0].getType();
    if (isa<FloatType>(type)) {
      Value zero = s.real(type, 0);
      Value more = s.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, x[0], zero);
      Value less = s.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x[0], zero);
      // Zeros and NaN stay what they are.
      return s.make<arith::SelectOp>(more, s.real(type, 1), s.make<arith::SelectOp>(less, s.real(type, -1), x[0]));
    }
    Value zero = s.integer(type, 0), one = s.integer(type, 1);
    Value more = s.make<arith::CmpIOp>(natural ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt, x[0], zero);
    Value isZero = s.make<arith::CmpIOp>(arith::CmpIPredicate::eq, x[0], zero);
    return s.make<arith::SelectOp>(more, one, s.make<arith::SelectOp>(isZero, zero, s.integer(type, -1)));
  });
  return success();
}

LogicalResult lowerRelu(onnx::ReluOp op, OnnxLowering &to) {
  bool natural = isUnsignedElement(op.getX());
  to.elementwise({op.getX()}, op.getY(), [&](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Scalars s{b, loc};
    if (isa<FloatType>(x[0].getType()))
      return s.make<arith::MaximumFOp>(x[0], s.real(x[0].getType(), 0));
    return natural ? x[0] : s.make<arith::MaxSIOp>(x[0], s.integer(x[0].getType(), 0));
  });
  return success();
}

LogicalResult lowerErf(onnx::ErfOp op, OnnxLowering &to) {
  return unaryFloat(op, to, [](Scalars &s, Value x) { return s.make<math::ErfOp>(x); });
}

LogicalResult lowerSigmoid(onnx::SigmoidOp op, OnnxLowering &to) {
  return unaryFloat(op, to, [](Scalars &s, Value x) { return s.sigmoid(x); });
}

LogicalResult lowerReciprocal(onnx::ReciprocalOp op, OnnxLowering &to) {
  return unaryFloat(op, to, [](Scalars &s, Value x) { return s.make<arith::DivFOp>(s.real(x.getType(), 1), x); });
}

LogicalResult lowerSoftplus(onnx::SoftplusOp op, OnnxLowering &to) {
  return unaryFloat(op, to, [](Scalars &s, Value x) { return s.softplus(x); });
}

LogicalResult lowerSwish(onnx::SwishOp op, OnnxLowering &to) {
  double alpha = op.getAlpha().convertToFloat();
  return unaryFloat(op, to, [&](Scalars &s, Value x) {
    return s.make<arith::MulFOp>(x, s.sigmoid(s.make<arith::MulFOp>(x, s.real(x.getType(), alpha))));
  });
}

LogicalResult lowerQuickGelu(onnx::MsQuickGeluOp op, OnnxLowering &to) {
  double alpha = op.getAlpha().convertToFloat();
  return unaryFloat(op, to, [&](Scalars &s, Value x) {
    return s.make<arith::MulFOp>(x, s.sigmoid(s.make<arith::MulFOp>(x, s.real(x.getType(), alpha))));
  });
}

LogicalResult lowerGelu(onnx::GeluOp op, OnnxLowering &to) {
  bool tanh = op.getApproximate() == "tanh";
  return unaryFloat(op, to, [&](Scalars &s, Value x) { return gelu(s.b, s.loc, x, tanh); });
}

LogicalResult lowerIsNaN(onnx::IsNaNOp op, OnnxLowering &to) {
  to.elementwise({op.getX()}, op.getY(), [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x[0], x[0]);
  });
  return success();
}

LogicalResult lowerGatedAdd(onnx::MsGatedAddOp op, OnnxLowering &to) {
  to.elementwise({op.getA(), op.getB(), op.getGate()}, op.getC(),
                 [](OpBuilder &b, Location loc, ValueRange x) -> Value {
                   Scalars s{b, loc};
                   Value gated = s.make<arith::MulFOp>(s.widen(x[2]), s.widen(x[1]));
                   return s.narrow(s.make<arith::AddFOp>(s.widen(x[0]), gated), x[0].getType());
                 });
  return success();
}

} // namespace

void populateElementwiseLowerings(OnnxLoweringRegistry &registry) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  registry.add<onnx::AddOp>(lowerArithmetic<onnx::AddOp, arith::AddFOp, arith::AddIOp>);
  registry.add<onnx::SubOp>(lowerArithmetic<onnx::SubOp, arith::SubFOp, arith::SubIOp>);
  registry.add<onnx::MulOp>(lowerArithmetic<onnx::MulOp, arith::MulFOp, arith::MulIOp>);
  registry.add<onnx::DivOp>(lowerDiv);
  registry.add<onnx::ModOp>(lowerMod);
  registry.add<onnx::PowOp>(lowerPow);
  registry.add<onnx::EqualOp>(lowerCompare<onnx::EqualOp, F::OEQ, I::eq, I::eq>);
  registry.add<onnx::GreaterOp>(lowerCompare<onnx::GreaterOp, F::OGT, I::sgt, I::ugt>);
  registry.add<onnx::GreaterOrEqualOp>(lowerCompare<onnx::GreaterOrEqualOp, F::OGE, I::sge, I::uge>);
  registry.add<onnx::LessOp>(lowerCompare<onnx::LessOp, F::OLT, I::slt, I::ult>);
  registry.add<onnx::LessOrEqualOp>(lowerCompare<onnx::LessOrEqualOp, F::OLE, I::sle, I::ule>);
  registry.add<onnx::AndOp>(lowerLogic<onnx::AndOp, arith::AndIOp>);
  registry.add<onnx::OrOp>(lowerLogic<onnx::OrOp, arith::OrIOp>);
  registry.add<onnx::XorOp>(lowerLogic<onnx::XorOp, arith::XOrIOp>);
  registry.add<onnx::MaxOp>(lowerExtreme<onnx::MaxOp, arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>);
  registry.add<onnx::MinOp>(lowerExtreme<onnx::MinOp, arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>);
  registry.add<onnx::SumOp>(lowerVariadicSum<onnx::SumOp, false>);
  registry.add<onnx::MeanOp>(lowerVariadicSum<onnx::MeanOp, true>);
  registry.add<onnx::ClipOp>(lowerClip);
  registry.add<onnx::CastOp>(lowerCast<onnx::CastOp>);
  registry.add<onnx::CastLikeOp>(lowerCast<onnx::CastLikeOp>);
  registry.add<onnx::IdentityOp>(lowerIdentity);
  registry.add<onnx::WhereOp>(lowerWhere);
  registry.add<onnx::NegOp>(lowerNeg);
  registry.add<onnx::NotOp>(lowerNot);
  registry.add<onnx::AbsOp>(lowerAbs);
  registry.add<onnx::SignOp>(lowerSign);
  registry.add<onnx::ReluOp>(lowerRelu);
  registry.add<onnx::CeilOp>(lowerMath<onnx::CeilOp, math::CeilOp>);
  registry.add<onnx::FloorOp>(lowerMath<onnx::FloorOp, math::FloorOp>);
  registry.add<onnx::RoundOp>(lowerMath<onnx::RoundOp, math::RoundEvenOp>);
  registry.add<onnx::CosOp>(lowerMath<onnx::CosOp, math::CosOp>);
  registry.add<onnx::SinOp>(lowerMath<onnx::SinOp, math::SinOp>);
  registry.add<onnx::ExpOp>(lowerMath<onnx::ExpOp, math::ExpOp>);
  registry.add<onnx::LogOp>(lowerMath<onnx::LogOp, math::LogOp>);
  registry.add<onnx::SqrtOp>(lowerMath<onnx::SqrtOp, math::SqrtOp>);
  registry.add<onnx::TanhOp>(lowerMath<onnx::TanhOp, math::TanhOp>);
  registry.add<onnx::ErfOp>(lowerErf);
  registry.add<onnx::SigmoidOp>(lowerSigmoid);
  registry.add<onnx::ReciprocalOp>(lowerReciprocal);
  registry.add<onnx::SoftplusOp>(lowerSoftplus);
  registry.add<onnx::SwishOp>(lowerSwish);
  registry.add<onnx::MsQuickGeluOp>(lowerQuickGelu);
  registry.add<onnx::GeluOp>(lowerGelu);
  registry.add<onnx::IsNaNOp>(lowerIsNaN);
  registry.add<onnx::MsGatedAddOp>(lowerGatedAdd);
}

} // namespace farskip
