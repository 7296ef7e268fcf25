// com.microsoft.MoE as moe.experts.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/ExpertForms.h"
#include "passes/Recognise/GraphBuilder.h"

using namespace farskip;
using namespace mlir;

namespace {

/// One expert of the operator, built inside the region.
class Expert {
public:
  Expert(onnx::MsMoEOp op, GraphBuilder &graph) : op(op), graph(graph) {}

  Value build(Value rows, ArrayRef<Value> slices) {
    const Value *slice = slices.begin();
    auto next = [&](bool present) { return present ? *slice++ : Value(); };
    Value fc1 = next(true), bias1 = next(static_cast<bool>(op.getFc1ExpertsBias()));
    Value fc2 = next(true), bias2 = next(static_cast<bool>(op.getFc2ExpertsBias()));
    Value fc3 = next(static_cast<bool>(op.getFc3ExpertsWeights()));
    Value bias3 = next(static_cast<bool>(op.getFc3ExpertsBias()));
    Value up = product(rows, fc1, bias1), hidden;
    bool swiglu = op.getActivationType() == "swiglu";
    if (fc3)
      hidden =
          swiglu ? gated(up, product(rows, fc3, bias3)) : graph.binary("Mul", activated(up), product(rows, fc3, bias3));
    else if (swiglu)
      hidden = gated(half(up, 0), half(up, 1));
    else
      hidden = activated(up);
    return product(hidden, fc2, bias2);
  }

private:
  /// x · Wᵀ + b. Older files keep W transposed; a square W is the newer form.
  Value product(Value x, Value weight, Value bias) {
    const SymbolicExpr &width = graph.shapes.shape(x)[1];
    bool transposed = graph.shapes.shape(weight)[1] == width;
    Value y = graph.binary("MatMul", x, transposed ? graph.transpose(weight, {1, 0}) : weight);
    return bias ? graph.binary("Add", y, bias) : y;
  }

  /// Gate (0) or linear part (1) of a fused product.
  Value half(Value fused, int64_t part) {
    int64_t width = *graph.shapes.shape(fused)[1].constant();
    if (op.getSwigluFusion() == 1)
      return graph.slice(fused, 1, part, width, 2);
    return graph.slice(fused, 1, part * width / 2, (part + 1) * width / 2);
  }

  Value activated(Value x) {
    StringRef type = op.getActivationType();
    if (type == "relu")
      return graph.unary("Relu", x);
    if (type == "gelu")
      return graph
          .create("Gelu", {x}, {graph.builder.getNamedAttr("approximate", graph.builder.getStringAttr("tanh"))})
          ->getResult(0);
    if (type == "silu")
      return graph.binary("Mul", x, graph.unary("Sigmoid", x));
    return x;
  }

  /// G · σ(α·G) · (U + β), both parts clamped.
  Value gated(Value gate, Value linear) {
    Type element = getElementTypeOrSelf(gate.getType());
    if (std::optional<APFloat> limit = op.getSwigluLimit(); limit && !limit->isInfinity()) {
      Value high = graph.number(element, limit->convertToFloat()),
            low = graph.number(element, -limit->convertToFloat());
      gate = graph.create("Clip", {gate, Value(), high})->getResult(0);
      linear = graph.create("Clip", {linear, low, high})->getResult(0);
    }
    float alpha = op.getActivationAlpha().convertToFloat(), beta = op.getActivationBeta().convertToFloat();
    Value scaled = alpha == 1 ? gate : graph.binary("Mul", gate, graph.number(element, alpha));
    Value swish = graph.binary("Mul", gate, graph.unary("Sigmoid", scaled));
    if (beta != 0)
      linear = graph.binary("Add", linear, graph.number(element, beta));
    return graph.binary("Mul", swish, linear);
  }

  onnx::MsMoEOp op;
  GraphBuilder &graph;
};

} // namespace

bool farskip::raiseMsMoe(Operation *root, RaiseContext &context) {
  auto op = dyn_cast<onnx::MsMoEOp>(root);
  if (!op)
    return false;
  GraphBuilder graph(context.builder, op.getLoc(), context.shapes);
  ArrayRef<SymbolicExpr> dims = context.shapes.shape(op.getInput());
  std::optional<int64_t> width = dims.back().constant();
  if (!width)
    return false;
  bool flat = dims.size() == 2;
  Value x = flat ? op.getInput() : graph.reshape(op.getInput(), {-1, *width});

  Type f32 = context.builder.getF32Type();
  Value scores = graph.softmax(graph.cast(op.getRouterProbs(), f32), -1);
  Operation *top = graph.create("TopK", {scores, graph.integers({op.getK()})}, {}, 2);
  Value weights = top->getResult(0), experts = top->getResult(1);
  if (op.getNormalizeRoutingWeights())
    weights = graph.binary("Div", weights, graph.create("ReduceSum", {weights, graph.integers({-1})})->getResult(0));

  SmallVector<Value> params;
  for (Value param : {op.getFc1ExpertsWeights(), op.getFc1ExpertsBias(), op.getFc2ExpertsWeights(),
                      op.getFc2ExpertsBias(), op.getFc3ExpertsWeights(), op.getFc3ExpertsBias()})
    if (param)
      params.push_back(param);
  auto moe = moe::ExpertsOp::create(context.builder, op.getLoc(), x.getType(), x, weights, experts, params);
  if (Attribute node = op->getAttr("onnx.node"))
    moe->setAttr("onnx.node", node);
  Block &body = moe.getBody().emplaceBlock();
  auto rows = cast<RankedTensorType>(x.getType());
  body.addArgument(RankedTensorType::get({ShapedType::kDynamic, *width}, rows.getElementType()), op.getLoc());
  for (Value param : params) {
    auto type = cast<RankedTensorType>(param.getType());
    body.addArgument(RankedTensorType::get(type.getShape().drop_front(), type.getElementType()), op.getLoc());
  }
  {
    OpBuilder::InsertionGuard guard(context.builder);
    context.builder.setInsertionPointToEnd(&body);
    moe.shapeArguments(context.shapes);
    SmallVector<Value> slices(body.getArguments().drop_front());
    Value y = Expert(op, graph).build(body.getArgument(0), slices);
    moe::YieldOp::create(context.builder, op.getLoc(), y);
  }
  (void)moe.inferShapes(context.shapes);
  Value y = flat ? moe.getY() : graph.binary("Reshape", moe.getY(), graph.unary("Shape", op.getInput()));
  op.getOutput().replaceAllUsesWith(y);
  return true;
}
