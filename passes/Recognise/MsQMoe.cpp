// com.microsoft.QMoE as moe.experts over packed weights.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/ExpertActivation.h"

using namespace farskip;
using namespace mlir;

namespace {

/// One of the operator's up to three products.
struct Projection {
  Value weights, scales, bias, zeros;
  int64_t bits;
};

/// One expert of the operator, built inside the region.
class Expert {
public:
  Expert(onnx::MsQMoEOp op, GraphBuilder &graph) : op(op), graph(graph) {}

  /// `of` gives one expert's slice of an operand of the operator, or nothing.
  Value build(Value rows, llvm::function_ref<Projection(const Projection &)> of) {
    int64_t bits = op.getExpertWeightBits();
    Value first = product(rows, of({op.getFc1ExpertsWeights(), op.getFc1Scales(), op.getFc1ExpertsBias(),
                                    op.getFc1ZeroPoints(), op.getFc1ExpertWeightBits().value_or(bits)}));
    Value third;
    if (op.getFc3ExpertsWeights())
      third = product(rows, of({op.getFc3ExpertsWeights(), op.getFc3Scales(), op.getFc3ExpertsBias(),
                                op.getFc3ZeroPoints(), op.getFc3ExpertWeightBits().value_or(bits)}));
    Value hidden = ExpertActivation(op, graph).hidden(first, third);
    return product(hidden, of({op.getFc2ExpertsWeights(), op.getFc2Scales(), op.getFc2ExpertsBias(),
                               op.getFc2ZeroPoints(), op.getFc2ExpertWeightBits().value_or(bits)}));
  }

private:
  Value product(Value x, const Projection &part) {
    ArrayRef<SymbolicExpr> dims = graph.shapes.shape(part.weights);
    int64_t n = *dims[0].constant(), bytes = *dims[1].constant(), k = bytes * (8 / part.bits);
    bool blocked = graph.shapes.rank(part.scales) == 2;
    int64_t block = blocked ? op.getBlockSize().value_or(k) : k;
    Value zeros = part.zeros && !blocked && part.bits < 8 ? unpacked(part.zeros, part.bits, n) : part.zeros;
    return graph
        .create("ms.MatMulNBits", {x, part.weights, part.scales, zeros, Value(), part.bias},
                {graph.attribute("K", k), graph.attribute("N", n), graph.attribute("bits", part.bits),
                 graph.attribute("block_size", block)})
        ->getResult(0);
  }

  /// Zero points of `n` rows that follow each other in bytes, as floats.
  Value unpacked(Value packed, int64_t bits, int64_t n) {
    Type f32 = graph.builder.getF32Type();
    Value bytes = graph.create("Cast", {packed}, {graph.attribute("to", 1)})->getResult(0);
    SmallVector<Value> parts;
    Value size = graph.number(f32, 1 << bits);
    for (int64_t place = 0; place < 8 / bits; ++place) {
      Value low = graph.unary("Floor", graph.binary("Div", bytes, graph.number(f32, 1 << (bits * place))));
      Value part = graph.create("Mod", {low, size}, {graph.attribute("fmod", 1)})->getResult(0);
      parts.push_back(graph.reshape(part, {-1, 1}));
    }
    Value all = graph.create("Concat", parts, {graph.attribute("axis", 1)})->getResult(0);
    return graph.slice(graph.reshape(all, {-1}), 0, 0, n);
  }

  onnx::MsQMoEOp op;
  GraphBuilder &graph;
};

} // namespace

bool farskip::raiseMsQMoe(Operation *root, RaiseContext &context) {
  auto op = dyn_cast<onnx::MsQMoEOp>(root);
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
  Operation *top = graph.create("TopK", {graph.cast(op.getRouterProbs(), f32), graph.integers({op.getK()})}, {}, 2);
  Value weights = top->getResult(0), experts = top->getResult(1);
  if (op.getRouterWeights()) {
    weights =
        graph.create("GatherElements", {graph.cast(op.getRouterWeights(), f32), experts}, {graph.attribute("axis", 1)})
            ->getResult(0);
    if (op.getNormalizeRoutingWeights())
      weights = graph.binary("Div", weights, graph.create("ReduceSum", {weights, graph.integers({-1})})->getResult(0));
  } else {
    weights = graph.softmax(weights, -1);
  }
  SmallVector<Value> params;
  for (Value operand : {op.getFc1ExpertsWeights(), op.getFc1Scales(), op.getFc1ExpertsBias(), op.getFc1ZeroPoints(),
                        op.getFc2ExpertsWeights(), op.getFc2Scales(), op.getFc2ExpertsBias(), op.getFc2ZeroPoints(),
                        op.getFc3ExpertsWeights(), op.getFc3Scales(), op.getFc3ExpertsBias(), op.getFc3ZeroPoints()})
    if (operand)
      params.push_back(operand);
  Value result = addExperts(op, context, x, weights, experts, params, [&](Value rows, ArrayRef<Value> slices) {
    auto slice = [&](Value operand) {
      return operand ? slices[llvm::find(params, operand) - params.begin()] : Value();
    };
    return Expert(op, graph).build(rows, [&](const Projection &whole) -> Projection {
      return {slice(whole.weights), slice(whole.scales), slice(whole.bias), slice(whole.zeros), whole.bits};
    });
  });
  Value y = flat ? result : graph.binary("Reshape", result, graph.unary("Shape", op.getInput()));
  op.getOutput().replaceAllUsesWith(y);
  return true;
}
