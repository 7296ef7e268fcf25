// Scalar conversions by the rules of ONNX Cast.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace farskip;
using namespace mlir;

/// Out of range saturates and NaN is 0.
static Value floatToInt(OpBuilder &b, Location loc, Value x, IntegerType to, bool isUnsigned) {
  auto from = cast<FloatType>(x.getType());
  if (from.getWidth() < 32) {
    from = b.getF32Type();
    x = arith::ExtFOp::create(b, loc, from, x);
  }
  unsigned width = to.getWidth();
  APInt least = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  APInt most = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  // The limits as floats: the smaller one is exact, the larger one rounds up to the first value out of range.
  APFloat low(from.getFloatSemantics()), high(from.getFloatSemantics());
  low.convertFromAPInt(least, !isUnsigned, APFloat::rmTowardZero);
  high.convertFromAPInt(most, !isUnsigned, APFloat::rmTowardPositive);
  auto real = [&](const APFloat &v) -> Value { return arith::ConstantOp::create(b, loc, FloatAttr::get(from, v)); };
  auto number = [&](const APInt &v) -> Value { return arith::ConstantOp::create(b, loc, IntegerAttr::get(to, v)); };
  Value inside;
  Value small = isUnsigned ? arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, x, real(low)).getResult()
                           : arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, real(low)).getResult();
  // Where `most` is exact as a float (narrow integers) it is itself in range.
  Value large = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x, real(high));
  Value nan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value any = arith::OrIOp::create(b, loc, arith::OrIOp::create(b, loc, small, large), nan);
  Value safe = arith::SelectOp::create(b, loc, any, real(APFloat::getZero(from.getFloatSemantics())), x);
  inside = isUnsigned ? arith::FPToUIOp::create(b, loc, to, safe).getResult()
                      : arith::FPToSIOp::create(b, loc, to, safe).getResult();
  Value y = arith::SelectOp::create(b, loc, small, number(least), inside);
  return arith::SelectOp::create(b, loc, large, number(most), y);
}

Value OnnxLowering::castScalar(OpBuilder &b, Location loc, Value x, Type fromOnnx, Type toOnnx) {
  Type from = x.getType(), to = signlessType(toOnnx);
  bool fromBool = from.isInteger(1), toBool = to.isInteger(1);
  bool fromUnsigned = fromBool || fromOnnx.isUnsignedInteger(), toUnsigned = toOnnx.isUnsignedInteger();
  if (from == to)
    return x;
  if (auto real = dyn_cast<FloatType>(from)) {
    if (toBool)
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x,
                                   arith::ConstantOp::create(b, loc, b.getFloatAttr(real, 0.0)));
    if (auto target = dyn_cast<IntegerType>(to))
      return floatToInt(b, loc, x, target, toUnsigned);
    unsigned wide = cast<FloatType>(to).getWidth();
    if (wide == real.getWidth()) // f16 and bf16
      return arith::TruncFOp::create(b, loc, to, arith::ExtFOp::create(b, loc, b.getF32Type(), x));
    if (wide > real.getWidth())
      return arith::ExtFOp::create(b, loc, to, x);
    return arith::TruncFOp::create(b, loc, to, x);
  }
  auto integer = cast<IntegerType>(from);
  if (auto real = dyn_cast<FloatType>(to)) {
    if (fromUnsigned)
      return arith::UIToFPOp::create(b, loc, to, x);
    return arith::SIToFPOp::create(b, loc, to, x);
  }
  if (toBool)
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x,
                                 arith::ConstantOp::create(b, loc, b.getIntegerAttr(from, 0)));
  unsigned width = cast<IntegerType>(to).getWidth();
  if (width < integer.getWidth())
    return arith::TruncIOp::create(b, loc, to, x);
  if (width == integer.getWidth())
    return x;
  if (fromUnsigned)
    return arith::ExtUIOp::create(b, loc, to, x);
  return arith::ExtSIOp::create(b, loc, to, x);
}
