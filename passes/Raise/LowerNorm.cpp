// Lowering of normalisations.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace mlir;

namespace farskip {

namespace {

/// A norm over the axes from `first` on: statistics in f32 (f64 for f64), the normalised value rounded to the input's
/// type before scale and bias apply, as the standard's function body has it.
class Norm {
public:
  Norm(OnnxLowering &to, Value x, Dims dims, int64_t first, float epsilon, bool centered)
      : to(to), b(to.builder), x(x), dims(dims), small(dims) {
    element = getElementTypeOrSelf(x.getType());
    wide = element.isF64() ? element : b.getF32Type();
    for (size_t i = 0; i < dims.size(); ++i) {
      reduced.push_back(static_cast<int64_t>(i) >= first);
      if (reduced.back())
        small[i] = 1;
      else
        kept.push_back(dims[i]);
    }
    SymbolicExpr count(1);
    for (const SymbolicExpr &dim : ArrayRef(dims).drop_front(first))
      count = count * dim;
    Value number = arith::IndexCastOp::create(b, to.loc(), b.getI64Type(), to.sizeValue(count));
    size = arith::SIToFPOp::create(b, to.loc(), wide, number);
    if (centered)
      mean = average(x, [&](OpBuilder &in, Location at, Value v) { return widen(in, at, v); });
    Value square = centered ? deviations() : average(x, [&](OpBuilder &in, Location at, Value v) -> Value {
      Value w = widen(in, at, v);
      return arith::MulFOp::create(in, at, w, w);
    });
    inverse = to.elementwise({{square, kept}}, kept, wide, [&](OpBuilder &in, Location at, ValueRange v) -> Value {
      Value sum = arith::AddFOp::create(in, at, v[0], constant(in, at, epsilon));
      return arith::DivFOp::create(in, at, constant(in, at, 1), math::SqrtOp::create(in, at, sum));
    });
  }

  /// y = round((x − mean) · inverse) · scale + bias
  Value apply(Value scale, ArrayRef<SymbolicExpr> scaleDims, Value bias, ArrayRef<SymbolicExpr> biasDims) {
    Value spread = to.reshape(inverse, kept, small);
    SmallVector<OnnxLowering::Operand> operands{{x, dims}, {spread, small}, {scale, scaleDims}};
    if (mean)
      operands.push_back({to.reshape(mean, kept, small), small});
    if (bias)
      operands.push_back({bias, biasDims});
    return to.elementwise(operands, dims, element, [&](OpBuilder &in, Location at, ValueRange v) -> Value {
      Value y = widen(in, at, v[0]);
      if (mean)
        y = arith::SubFOp::create(in, at, y, v[3]);
      y = arith::MulFOp::create(in, at, y, v[1]);
      if (element != wide)
        y = widen(in, at, arith::TruncFOp::create(in, at, element, y));
      y = arith::MulFOp::create(in, at, y, widen(in, at, v[2]));
      if (bias)
        y = arith::AddFOp::create(in, at, y, widen(in, at, v.back()));
      return narrow(in, at, y);
    });
  }

  /// The mean (where there is one) and 1/σ, with extent 1 along the normalised axes, as f32.
  Value meanOutput() { return to.convertFloat(to.reshape(mean, kept, small), small, b.getF32Type()); }
  Value inverseOutput() { return to.convertFloat(to.reshape(inverse, kept, small), small, b.getF32Type()); }

private:
  Value constant(OpBuilder &in, Location at, double value) {
    return arith::ConstantOp::create(in, at, in.getFloatAttr(wide, value));
  }
  Value widen(OpBuilder &in, Location at, Value v) {
    return v.getType() == wide ? v : arith::ExtFOp::create(in, at, wide, v).getResult();
  }
  Value narrow(OpBuilder &in, Location at, Value v) {
    return v.getType() == element ? v : arith::TruncFOp::create(in, at, element, v).getResult();
  }

  Value average(Value tensor, llvm::function_ref<Value(OpBuilder &, Location, Value)> term) {
    Value sum =
        to.reduce(tensor, dims, reduced, to.scalar(wide, 0), [&](OpBuilder &in, Location at, ValueRange v) -> Value {
          return arith::AddFOp::create(in, at, v[1], term(in, at, v[0]));
        });
    return to.elementwise({{sum, kept}}, kept, wide, [&](OpBuilder &in, Location at, ValueRange v) -> Value {
      return arith::DivFOp::create(in, at, v[0], size);
    });
  }

  /// The mean of the squared distances from the mean.
  Value deviations() {
    Value centers = to.reshape(mean, kept, small);
    Value distance = to.elementwise({{x, dims}, {centers, small}}, dims, wide,
                                    [&](OpBuilder &in, Location at, ValueRange v) -> Value {
                                      return arith::SubFOp::create(in, at, widen(in, at, v[0]), v[1]);
                                    });
    return average(distance,
                   [&](OpBuilder &in, Location at, Value v) -> Value { return arith::MulFOp::create(in, at, v, v); });
  }

  OnnxLowering &to;
  OpBuilder &b;
  Value x, mean, inverse, size;
  Dims dims, small, kept;
  SmallVector<bool> reduced;
  Type element, wide;
};

int64_t firstAxis(OnnxLowering &to, Value x, int64_t axis) { return axis < 0 ? axis + to.shapes.rank(x) : axis; }

} // namespace

static LogicalResult lowerLayerNorm(onnx::LayerNormalizationOp op, OnnxLowering &to) {
  Dims dims(to.shapes.shape(op.getX())), scale(to.shapes.shape(op.getScale())), bias;
  if (op.getB())
    bias = Dims(to.shapes.shape(op.getB()));
  Norm norm(to, to.value(op.getX()), dims, firstAxis(to, op.getX(), op.getAxis()), op.getEpsilon().convertToFloat(),
            /*centered=*/true);
  to.set(op.getY(), norm.apply(to.value(op.getScale()), scale, op.getB() ? to.value(op.getB()) : Value(), bias));
  if (!op.getMean().use_empty())
    to.set(op.getMean(), norm.meanOutput());
  if (!op.getInvStdDev().use_empty())
    to.set(op.getInvStdDev(), norm.inverseOutput());
  return success();
}

static LogicalResult lowerRmsNorm(onnx::RMSNormalizationOp op, OnnxLowering &to) {
  Dims dims(to.shapes.shape(op.getX())), scale(to.shapes.shape(op.getScale()));
  Norm norm(to, to.value(op.getX()), dims, firstAxis(to, op.getX(), op.getAxis()), op.getEpsilon().convertToFloat(),
            /*centered=*/false);
  to.set(op.getY(), norm.apply(to.value(op.getScale()), scale, {}, {}));
  return success();
}

static LogicalResult lowerSimplifiedNorm(onnx::SimplifiedLayerNormalizationOp op, OnnxLowering &to) {
  Dims dims(to.shapes.shape(op.getX())), scale(to.shapes.shape(op.getScale()));
  Norm norm(to, to.value(op.getX()), dims, firstAxis(to, op.getX(), op.getAxis()), op.getEpsilon().convertToFloat(),
            /*centered=*/false);
  to.set(op.getY(), norm.apply(to.value(op.getScale()), scale, {}, {}));
  if (!op.getInvStdVar().use_empty())
    to.set(op.getInvStdVar(), norm.inverseOutput());
  return success();
}

/// input + skip (+ bias), then the norm of the sum.
static LogicalResult lowerSkipNorm(Operation *op, OnnxLowering &to, Value bias, Value beta, float epsilon,
                                   bool centered) {
  Value x = op->getOperand(0), skip = op->getOperand(1), gamma = op->getOperand(2);
  Dims dims(to.shapes.shape(x)), skipDims(to.shapes.shape(skip)), scale(to.shapes.shape(gamma)), biasDims, betaDims;
  SmallVector<OnnxLowering::Operand> operands{{to.value(x), dims}, {to.value(skip), skipDims}};
  if (bias) {
    biasDims = Dims(to.shapes.shape(bias));
    operands.push_back({to.value(bias), biasDims});
  }
  Type element = to.type(x).getElementType();
  Value sum = to.elementwise(operands, dims, element, [&](OpBuilder &b, Location at, ValueRange v) -> Value {
    Value y = arith::AddFOp::create(b, at, v[0], v[1]);
    return bias ? arith::AddFOp::create(b, at, y, v[2]).getResult() : y;
  });
  if (beta)
    betaDims = Dims(to.shapes.shape(beta));
  Norm norm(to, sum, dims, dims.size() - 1, epsilon, centered);
  to.set(op->getResult(0), norm.apply(to.value(gamma), scale, beta ? to.value(beta) : Value(), betaDims));
  if (!op->getResult(1).use_empty() && centered)
    to.set(op->getResult(1), norm.meanOutput());
  else if (!op->getResult(1).use_empty())
    return op->emitError("the mean of a norm that has none is used");
  if (!op->getResult(2).use_empty())
    to.set(op->getResult(2), norm.inverseOutput());
  to.set(op->getResult(3), sum);
  return success();
}

static LogicalResult lowerSkipSimplified(onnx::MsSkipSimplifiedLayerNormalizationOp op, OnnxLowering &to) {
  return lowerSkipNorm(op, to, op.getBias(), {}, op.getEpsilon().convertToFloat(), false);
}

static LogicalResult lowerSkipLayerNorm(onnx::MsSkipLayerNormalizationOp op, OnnxLowering &to) {
  return lowerSkipNorm(op, to, op.getBias(), op.getBeta(), op.getEpsilon().convertToFloat(), true);
}

void populateNormLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::LayerNormalizationOp>(lowerLayerNorm);
  registry.add<onnx::RMSNormalizationOp>(lowerRmsNorm);
  registry.add<onnx::SimplifiedLayerNormalizationOp>(lowerSimplifiedNorm);
  registry.add<onnx::MsSkipSimplifiedLayerNormalizationOp>(lowerSkipSimplified);
  registry.add<onnx::MsSkipLayerNormalizationOp>(lowerSkipLayerNorm);
}

} // namespace farskip
