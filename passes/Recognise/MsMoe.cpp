// com.microsoft.MoE as moe.experts.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/ExpertActivation.h"

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
    Value first = product(rows, fc1, bias1), third = fc3 ? product(rows, fc3, bias3) : Value();
    Value hidden = ExpertActivation(op, graph).hidden(first, third);
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
  Value result = addExperts(op, context, x, weights, experts, params,
                            [&](Value rows, ArrayRef<Value> slices) { return Expert(op, graph).build(rows, slices); });
  Value y = flat ? result : graph.binary("Reshape", result, graph.unary("Shape", op.getInput()));
  op.getOutput().replaceAllUsesWith(y);
  return true;
}
