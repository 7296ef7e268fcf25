// Lowering of com.microsoft's fused products and activations.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/Gelu.h"
#include "passes/Raise/Scalars.h"

using namespace mlir;

namespace farskip {

Value gelu(OpBuilder &b, Location loc, Value x, bool tanh) {
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), value));
  };
  auto mul = [&](Value l, Value r) -> Value { return arith::MulFOp::create(b, loc, l, r); };
  Value inner;
  if (tanh) {
    Value cube = mul(mul(mul(x, x), x), number(0.044715));
    Value sum = arith::AddFOp::create(b, loc, x, cube);
    inner = math::TanhOp::create(b, loc, mul(sum, number(0.79788456080286535588)));
  } else {
    inner = math::ErfOp::create(b, loc, mul(x, number(0.70710678118654752440)));
  }
  return mul(mul(x, number(0.5)), arith::AddFOp::create(b, loc, inner, number(1)));
}

namespace {

/// Gelu of x + bias, in f32 for narrower floats; the sum is rounded first, as an Add of its own would round it.
LogicalResult lowerGelu(OnnxLowering &to, Value x, Value bias, Value result, bool tanh) {
  SmallVector<Value> operands{x};
  if (bias)
    operands.push_back(bias);
  to.elementwise(operands, result, [&](OpBuilder &b, Location loc, ValueRange v) -> Value {
    Value sum = bias ? arith::AddFOp::create(b, loc, v[0], v[1]).getResult() : v[0];
    Scalars s{b, loc};
    return s.narrow(gelu(b, loc, s.widen(sum), tanh), sum.getType());
  });
  return success();
}

LogicalResult lowerMsGelu(onnx::MsGeluOp op, OnnxLowering &to) {
  return lowerGelu(to, op.getX(), {}, op.getY(), /*tanh=*/false);
}
LogicalResult lowerBiasGelu(onnx::MsBiasGeluOp op, OnnxLowering &to) {
  return lowerGelu(to, op.getA(), op.getB(), op.getC(), /*tanh=*/false);
}
LogicalResult lowerFastGelu(onnx::MsFastGeluOp op, OnnxLowering &to) {
  return lowerGelu(to, op.getX(), op.getBias(), op.getY(), /*tanh=*/true);
}

/// A copy with the last two axes swapped; swaps the dimensions too.
Value swapLast(OnnxLowering &to, Value tensor, Dims &dims) {
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(dims.size()));
  std::swap(perm[dims.size() - 1], perm[dims.size() - 2]);
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  Value init = to.empty(dims, getElementTypeOrSelf(tensor.getType()));
  return linalg::TransposeOp::create(to.builder, to.loc(), tensor, init, perm)->getResult(0);
}

LogicalResult lowerFusedMatMul(onnx::MsFusedMatMulOp op, OnnxLowering &to) {
  Dims a(to.shapes.shape(op.getA())), b(to.shapes.shape(op.getB())), y(to.shapes.shape(op.getY()));
  Value left = to.value(op.getA()), right = to.value(op.getB());
  if (op.getTransA())
    left = swapLast(to, left, a);
  if (op.getTransB())
    right = swapLast(to, right, b);
  Value product = to.matmul(left, a, right, b, y);
  double alpha = op.getAlpha().convertToFloat();
  if (alpha != 1) {
    Type element = getElementTypeOrSelf(product.getType());
    product = to.elementwise({{product, y}}, y, element, [&](OpBuilder &in, Location loc, ValueRange x) -> Value {
      Type type = element.isF64() ? element : Type(in.getF32Type());
      Value wide = x[0].getType() == type ? x[0] : arith::ExtFOp::create(in, loc, type, x[0]).getResult();
      Value scaled =
          arith::MulFOp::create(in, loc, wide, arith::ConstantOp::create(in, loc, in.getFloatAttr(type, alpha)));
      return type == element ? scaled : arith::TruncFOp::create(in, loc, element, scaled).getResult();
    });
  }
  to.set(op.getY(), product);
  return success();
}

} // namespace

void populateFusedLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::MsGeluOp>(lowerMsGelu);
  registry.add<onnx::MsBiasGeluOp>(lowerBiasGelu);
  registry.add<onnx::MsFastGeluOp>(lowerFastGelu);
  registry.add<onnx::MsFusedMatMulOp>(lowerFusedMatMul);
}

} // namespace farskip
