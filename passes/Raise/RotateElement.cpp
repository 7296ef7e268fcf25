// One element of a head turned by the angle of its position.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/RotateElement.h"

using namespace mlir;

Value farskip::rotateElement(OpBuilder &b, Location loc, Value d, Value half, bool interleaved,
                             llvm::function_ref<Value(Value)> load,
                             llvm::function_ref<std::pair<Value, Value>(Value)> table) {
  auto number = [&](int64_t n) -> Value { return arith::ConstantIndexOp::create(b, loc, n); };
  auto wide = [&](Value v) -> Value {
    return cast<FloatType>(v.getType()).getWidth() < 32 ? arith::ExtFOp::create(b, loc, b.getF32Type(), v).getResult()
                                                        : v;
  };
  Value own = load(d), both = arith::AddIOp::create(b, loc, half, half);
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, d, both);
  Value safe = arith::SelectOp::create(b, loc, inside, d, number(0));
  Value angle, isFirst, step = interleaved ? number(1) : half;
  if (interleaved) {
    angle = arith::DivUIOp::create(b, loc, safe, number(2));
    Value odd = arith::RemUIOp::create(b, loc, safe, number(2));
    isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, odd, number(0));
  } else {
    isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, safe, half);
    angle = arith::SelectOp::create(b, loc, isFirst, safe, arith::SubIOp::create(b, loc, safe, half));
  }
  Value partner = arith::SelectOp::create(b, loc, isFirst, arith::AddIOp::create(b, loc, safe, step),
                                          arith::SubIOp::create(b, loc, safe, step));
  auto [cosine, sine] = table(angle);
  Value c = wide(cosine), s = wide(sine);
  Value sign = arith::SelectOp::create(b, loc, isFirst, arith::NegFOp::create(b, loc, s), s);
  Value y = arith::AddFOp::create(b, loc, arith::MulFOp::create(b, loc, wide(own), c),
                                  arith::MulFOp::create(b, loc, wide(load(partner)), sign));
  if (y.getType() != own.getType())
    y = arith::TruncFOp::create(b, loc, own.getType(), y);
  return arith::SelectOp::create(b, loc, inside, y, own);
}
