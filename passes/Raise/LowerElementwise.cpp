// Lowering of elementwise operators.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace mlir;

namespace farskip {

/// A binary operator with one scalar operation for floats and one for integers.
template <typename OpT, typename FloatOp, typename IntOp>
static LogicalResult lowerArithmetic(OpT op, OnnxLowering &to) {
  to.elementwise({op.getA(), op.getB()}, op.getC(), [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    if (isa<FloatType>(x[0].getType()))
      return FloatOp::create(b, loc, x[0], x[1]);
    return IntOp::create(b, loc, x[0], x[1]);
  });
  return success();
}

static LogicalResult lowerSigmoid(onnx::SigmoidOp op, OnnxLowering &to) {
  to.elementwise({op.getX()}, op.getY(), [](OpBuilder &b, Location loc, ValueRange x) -> Value {
    Type type = x[0].getType(), f32 = b.getF32Type();
    bool narrow = cast<FloatType>(type).getWidth() < 32;
    Value wide = narrow ? arith::ExtFOp::create(b, loc, f32, x[0]).getResult() : x[0];
    Value one = arith::ConstantOp::create(b, loc, b.getFloatAttr(wide.getType(), 1.0));
    Value e = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, wide));
    Value y = arith::DivFOp::create(b, loc, one, arith::AddFOp::create(b, loc, one, e));
    return narrow ? arith::TruncFOp::create(b, loc, type, y).getResult() : y;
  });
  return success();
}

void populateElementwiseLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::AddOp>(lowerArithmetic<onnx::AddOp, arith::AddFOp, arith::AddIOp>);
  registry.add<onnx::SubOp>(lowerArithmetic<onnx::SubOp, arith::SubFOp, arith::SubIOp>);
  registry.add<onnx::MulOp>(lowerArithmetic<onnx::MulOp, arith::MulFOp, arith::MulIOp>);
  registry.add<onnx::SigmoidOp>(lowerSigmoid);
}

} // namespace farskip
