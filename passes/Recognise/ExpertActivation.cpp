// What stands between an expert's products in the operators of com.microsoft.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/ExpertActivation.h"

using namespace farskip;
using namespace mlir;

Value ExpertActivation::hidden(Value first, Value third) {
  if (type != "swiglu")
    return third ? graph.binary("Mul", activated(first), third) : activated(first);
  return third ? gated(first, third) : gated(half(first, 0), half(first, 1));
}

/// Gate (0) or linear part (1) of a fused product.
Value ExpertActivation::half(Value fused, int64_t part) {
  int64_t width = *graph.shapes.shape(fused)[1].constant();
  if (fusion == 1)
    return graph.slice(fused, 1, part, width, 2);
  return graph.slice(fused, 1, part * width / 2, (part + 1) * width / 2);
}

Value ExpertActivation::activated(Value x) {
  if (type == "relu")
    return graph.unary("Relu", x);
  if (type == "gelu")
    return graph.create("Gelu", {x}, {graph.builder.getNamedAttr("approximate", graph.builder.getStringAttr("tanh"))})
        ->getResult(0);
  if (type == "silu")
    return graph.binary("Mul", x, graph.unary("Sigmoid", x));
  return x;
}

/// G · σ(α·G) · (U + β), both parts clamped.
Value ExpertActivation::gated(Value gate, Value linear) {
  Type element = getElementTypeOrSelf(gate.getType());
  if (limit) {
    Value high = graph.number(element, *limit), low = graph.number(element, -*limit);
    gate = graph.create("Clip", {gate, Value(), high})->getResult(0);
    linear = graph.create("Clip", {linear, low, high})->getResult(0);
  }
  Value scaled = alpha == 1 ? gate : graph.binary("Mul", gate, graph.number(element, alpha));
  Value swish = graph.binary("Mul", gate, graph.unary("Sigmoid", scaled));
  if (beta != 0)
    linear = graph.binary("Add", linear, graph.number(element, beta));
  return graph.binary("Mul", swish, linear);
}

Value farskip::addExperts(Operation *op, RaiseContext &context, Value x, Value weights, Value experts,
                          ArrayRef<Value> params, llvm::function_ref<Value(Value, ArrayRef<Value>)> build) {
  auto moe = moe::ExpertsOp::create(context.builder, op->getLoc(), x.getType(), x, weights, experts, params);
  if (Attribute node = op->getAttr("onnx.node"))
    moe->setAttr("onnx.node", node);
  Block &body = moe.getBody().emplaceBlock();
  auto rows = cast<RankedTensorType>(x.getType());
  body.addArgument(RankedTensorType::get({ShapedType::kDynamic, rows.getDimSize(1)}, rows.getElementType()),
                   op->getLoc());
  for (Value param : params) {
    auto type = cast<RankedTensorType>(param.getType());
    body.addArgument(RankedTensorType::get(type.getShape().drop_front(), type.getElementType()), op->getLoc());
  }
  {
    OpBuilder::InsertionGuard guard(context.builder);
    context.builder.setInsertionPointToEnd(&body);
    moe.shapeArguments(context.shapes);
    SmallVector<Value> slices(body.getArguments().drop_front());
    moe::YieldOp::create(context.builder, op->getLoc(), build(body.getArgument(0), slices));
  }
  (void)moe.inferShapes(context.shapes);
  return moe.getY();
}
