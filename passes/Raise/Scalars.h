// Scalar code of one element.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RAISE_SCALARS_H
#define FARSKIP_PASSES_RAISE_SCALARS_H

#include "passes/Raise/OnnxLowering.h"

namespace farskip {

/// f16 and bf16 are computed in f32 and rounded once.
struct Scalars {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value widen(mlir::Value x) {
    auto type = llvm::cast<mlir::FloatType>(x.getType());
    return type.getWidth() < 32 ? make<mlir::arith::ExtFOp>(b.getF32Type(), x) : x;
  }
  mlir::Value narrow(mlir::Value x, mlir::Type type) {
    return x.getType() == type ? x : make<mlir::arith::TruncFOp>(type, x);
  }
  mlir::Value real(mlir::Type type, double value) { return make<mlir::arith::ConstantOp>(b.getFloatAttr(type, value)); }
  mlir::Value integer(mlir::Type type, int64_t value) {
    return make<mlir::arith::ConstantOp>(b.getIntegerAttr(type, value));
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return make<mlir::arith::SelectOp>(condition, x, y);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) { return make<mlir::arith::AddFOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return make<mlir::arith::MulFOp>(x, y); }
  mlir::Value scaled(mlir::Value x, double factor) { return mul(x, real(x.getType(), factor)); }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OLT, x, y);
  }
  template <typename OpT, typename... Args> mlir::Value make(Args... args) { return OpT::create(b, loc, args...); }

  mlir::Value sigmoid(mlir::Value x) {
    mlir::Value one = real(x.getType(), 1);
    return make<mlir::arith::DivFOp>(one, add(one, make<mlir::math::ExpOp>(make<mlir::arith::NegFOp>(x))));
  }
  /// max(x, 0) + log(1 + exp(−|x|)): no overflow.
  mlir::Value softplus(mlir::Value x) {
    mlir::Value small = make<mlir::math::ExpOp>(make<mlir::arith::NegFOp>(make<mlir::math::AbsFOp>(x)));
    return add(make<mlir::arith::MaximumFOp>(x, real(x.getType(), 0)), make<mlir::math::Log1pOp>(small));
  }
  /// Clamped to [0, 1].
  mlir::Value unit(mlir::Value x) {
    return make<mlir::arith::MaximumFOp>(make<mlir::arith::MinimumFOp>(x, real(x.getType(), 1)), real(x.getType(), 0));
  }
};

/// A unary operator on floats.
template <typename OpT, typename FloatBody> mlir::LogicalResult unaryFloat(OpT op, OnnxLowering &to, FloatBody body) {
  to.elementwise({op->getOperand(0)}, op->getResult(0),
                 [&](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange x) -> mlir::Value {
                   Scalars s{b, loc};
                   return s.narrow(body(s, s.widen(x[0])), x[0].getType());
                 });
  return mlir::success();
}

} // namespace farskip

#endif
