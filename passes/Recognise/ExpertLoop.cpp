// Blocks that go through the experts one by one: each takes the rows of the tokens that chose it, and its weighted
// results are added to theirs.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/ExpertForms.h"
#include "passes/Recognise/HitRows.h"
#include "passes/Recognise/RowTracer.h"
#include "passes/Recognise/WeightedSum.h"

using namespace farskip;
using namespace mlir;

namespace {

/// What an expert contributes.
struct Contribution {
  HitRows rows;
  Value value, weights;
};

} // namespace

/// Splits the updates into an expert's rows and their weights.
static std::optional<Contribution> contribution(const RowScatter &step, SymbolicShapes &shapes) {
  std::optional<HitRows> rows = hitTokens(step.index, shapes);
  auto product = baseOfCasts(step.updates, shapes).getDefiningOp<onnx::MulOp>();
  if (!rows || !product || (!step.adds && !rows->mask.selection.distinct))
    return std::nullopt;
  for (auto [value, weights] : {std::pair(product.getA(), product.getB()), std::pair(product.getB(), product.getA())}) {
    ArrayRef<SymbolicExpr> dims = shapes.shape(weights);
    if (dims.size() < 2 || !dims.back().isConstant(1))
      continue;
    if (Value picked = pickedWeights(weights, *rows, shapes))
      return Contribution{*rows, value, picked};
  }
  return std::nullopt;
}

/// The rows of x that an expert gathers.
static RowTracer::Leaf gatheredRows(ArrayRef<Value> lanes, ArrayRef<Contribution> experts, RowTracer &tracer,
                                    SymbolicShapes &shapes) {
  if (lanes.size() != experts.size()) {
    // What all experts share and is no constant depends on no row.
    return isConstant(lanes.front()) || splatOf(lanes.front(), shapes) ? RowTracer::Leaf::unknown()
                                                                       : RowTracer::Leaf::fail();
  }
  std::optional<Axes> axes;
  Value x;
  for (auto [lane, expert] : llvm::zip(lanes, experts)) {
    std::optional<RowGather> gather = rowGather(lane, shapes);
    std::optional<HitRows> rows = gather ? hitTokens(gather->index, shapes) : std::nullopt;
    if (!rows)
      return RowTracer::Leaf::unknown();
    ArrayRef<SymbolicExpr> data = shapes.shape(gather->data), index = shapes.shape(gather->index);
    int64_t last = data.size() - 1;
    if (!sameRows(*rows, expert.rows) || gather->axis == last || !data[last].constant() ||
        shapes.elements(gather->data) != data[gather->axis] * data[last])
      return RowTracer::Leaf::fail();
    Axes these(gather->axis, Axis::Unit);
    for (int64_t i = 0; i < gather->indexAxes; ++i)
      these.push_back(index[i].isConstant(1) ? Axis::Unit : Axis::Pair);
    these.append(last - gather->axis - 1, Axis::Unit);
    these.push_back(data[last].isConstant(1) ? Axis::Unit : Axis::Feature);
    Value base = baseOfViews(gather->data, shapes);
    if ((x && x != base) || (axes && *axes != these))
      return RowTracer::Leaf::fail();
    x = base;
    axes = these;
  }
  if (!shapes.shape(x).back().constant() || llvm::count(*axes, Axis::Pair) != 1)
    return RowTracer::Leaf::fail();
  return tracer.rows(x, *axes);
}

bool farskip::raiseExpertLoop(Operation *root, RaiseContext &context) {
  SymbolicShapes &shapes = context.shapes;
  if (root->getNumResults() != 1 || !isa<onnx::AddOp, onnx::ScatterElementsOp, onnx::ScatterNDOp>(root))
    return false;
  Value sum = root->getResult(0);
  SmallVector<Contribution> found;
  while (std::optional<RowScatter> step = rowScatter(sum, shapes)) {
    std::optional<Contribution> part = contribution(*step, shapes);
    if (!part)
      break;
    found.push_back(*part);
    sum = step->sum;
  }
  if (found.empty())
    return false;
  // Each expert once, all of one choice and with one set of weights.
  const Selection selection = found.front().rows.mask.selection;
  Value weights = found.front().weights;
  if (static_cast<int64_t>(found.size()) != selection.count)
    return false;
  SmallVector<std::optional<Contribution>> byNumber(selection.count);
  for (const Contribution &part : found) {
    int64_t number = *part.rows.mask.expert;
    if (number < 0 || number >= selection.count || byNumber[number] || part.weights != weights ||
        part.rows.mask.selection.experts != selection.experts)
      return false;
    byNumber[number] = part;
  }
  SmallVector<Contribution> experts;
  SmallVector<Value> lanes;
  for (const std::optional<Contribution> &part : byNumber) {
    experts.push_back(*part);
    lanes.push_back(part->value);
  }

  RowTracer tracer(context, root->getLoc());
  std::optional<SymbolicExpr> tokens = shapes.elements(selection.experts).dividedBy(SymbolicExpr(selection.slots));
  if (!tokens)
    return false;
  tracer.tokens = *tokens;
  tracer.slots = selection.slots;
  tracer.experts = selection.count;
  tracer.leaf = [&](ArrayRef<Value> values) { return gatheredRows(values, experts, tracer, shapes); };
  std::optional<RowValue> result = tracer.trace(lanes);
  if (!result || llvm::count(result->axes, Axis::Pair) != 1 || result->axes.back() != Axis::Feature)
    return false;
  Value y = tracer.build(*result, weights, selection.experts, root->getResult(0), root);
  if (!y)
    return false;
  if (splatOf(sum, shapes) != 0.0) {
    if (sum.getType() != y.getType())
      return false;
    GraphBuilder graph(context.builder, root->getLoc(), shapes);
    y = graph.binary("Add", sum, y);
  }
  root->getResult(0).replaceAllUsesWith(y);
  return true;
}
