// Blocks that sort the pairs of a token and a slot by expert, give each expert its part of the rows, and join the
// parts. SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/ExpertForms.h"
#include "passes/Recognise/RowTracer.h"
#include "passes/Recognise/SortedRows.h"
#include "passes/Recognise/WeightedSum.h"

using namespace farskip;
using namespace mlir;

namespace {

/// What is known once the end of the block is seen.
struct SortedEnd {
  SortedPairs pairs;
  Value value;   ///< one row per sorted pair
  Value weights; ///< tokens × slots, in some view
};

} // namespace

/// The weights of which `value` has those of the sorted pairs.
static Value sortedWeights(Value value, const SortedPairs &pairs, SymbolicShapes &shapes) {
  std::optional<RowGather> gather = rowGather(baseOfCasts(value, shapes), shapes);
  if (!gather || gather->axis != 0 || shapes.elements(gather->data) != shapes.elements(pairs.order) ||
      shapes.shape(gather->data)[0] != shapes.elements(pairs.order) ||
      baseOfCasts(gather->index, shapes) != pairs.order)
    return {};
  return baseOfViews(gather->data, shapes);
}

/// Splits weighted sorted rows.
static std::optional<SortedEnd> weightedRows(Value rows, const SortedPairs &pairs, SymbolicShapes &shapes) {
  auto product = baseOfCasts(rows, shapes).getDefiningOp<onnx::MulOp>();
  if (!product)
    return std::nullopt;
  for (auto [value, factor] : {std::pair(product.getA(), product.getB()), std::pair(product.getB(), product.getA())}) {
    ArrayRef<SymbolicExpr> dims = shapes.shape(factor);
    if (dims.size() != 2 || !dims[1].isConstant(1))
      continue;
    if (Value weights = sortedWeights(factor, pairs, shapes))
      return SortedEnd{pairs, value, weights};
  }
  return std::nullopt;
}

/// Rows put back into the order of the pairs.
static std::optional<std::pair<SortedPairs, Value>> unsortedRows(Value value, SymbolicShapes &shapes) {
  std::optional<RowGather> gather = rowGather(baseOfCasts(value, shapes), shapes);
  if (!gather || gather->axis != 0 || gather->indexAxes != 1)
    return std::nullopt;
  std::optional<SortedPairs> pairs = inverseOrder(gather->index, shapes);
  if (!pairs)
    return std::nullopt;
  return std::make_pair(*pairs, gather->data);
}

static std::optional<SortedEnd> sortedEnd(Operation *root, SymbolicShapes &shapes) {
  if (std::optional<WeightedSum> sum = weightedSum(root, shapes))
    if (auto rows = unsortedRows(sum->value, shapes); rows && rows->first.selection.slots == sum->slots)
      return SortedEnd{rows->first, rows->second, sum->weights};
  if (std::optional<WeightedSum> sum = slotSum(root, shapes)) {
    auto rows = unsortedRows(sum->value, shapes);
    if (!rows || rows->first.selection.slots != sum->slots)
      return std::nullopt;
    return weightedRows(rows->second, rows->first, shapes);
  }
  if (root->getNumResults() == 1)
    if (std::optional<RowScatter> scatter = rowScatter(root->getResult(0), shapes);
        scatter && splatOf(scatter->sum, shapes) == 0.0) {
      std::optional<SortedPairs> pairs = sortedTokens(scatter->index, shapes);
      if (pairs && (scatter->adds || pairs->selection.slots == 1))
        return weightedRows(scatter->updates, *pairs, shapes);
    }
  return std::nullopt;
}

/// What the tracer is told: sorted rows of x, the join of the experts' parts, and where an expert's part comes from.
static RowTracer::Leaf sortedLeaf(ArrayRef<Value> lanes, const SortedPairs &pairs, RowTracer &tracer,
                                  SymbolicShapes &shapes) {
  int64_t experts = pairs.selection.count;
  if (lanes.size() > 1) {
    Value whole;
    for (auto [e, lane] : llvm::enumerate(lanes)) {
      Value from = rowsOfExpert(lane, e, pairs, shapes);
      if (!from || (whole && from != whole))
        return RowTracer::Leaf::unknown();
      whole = from;
    }
    std::optional<RowValue> rows = tracer.trace({whole});
    return {true, rows && rows->rows && rows->axes.front() == Axis::Pair ? rows : std::nullopt};
  }
  Value value = lanes.front();
  if (isConstant(value))
    return RowTracer::Leaf::unknown();
  if (std::optional<RowGather> gather = rowGather(value, shapes)) {
    if (gather->axis == 0 && gather->indexAxes == 1 && isParameter(gather->data) &&
        isSortedExperts(gather->index, pairs, shapes)) {
      Axes axes{Axis::Pair};
      for (const SymbolicExpr &dim : shapes.shape(gather->data).drop_front())
        axes.push_back(dim.isConstant(1) ? Axis::Unit : Axis::Feature);
      return tracer.parameter({gather->data}, axes);
    }
    std::optional<SortedPairs> tokens = sortedTokens(gather->index, shapes);
    if (!tokens || tokens->order != pairs.order)
      return RowTracer::Leaf::unknown();
    ArrayRef<SymbolicExpr> data = shapes.shape(gather->data);
    int64_t last = data.size() - 1;
    if (gather->axis == last || !data[last].constant() || gather->indexAxes != 1 ||
        shapes.elements(gather->data) != data[gather->axis] * data[last])
      return RowTracer::Leaf::fail();
    Axes axes(last + 1, Axis::Unit);
    axes[gather->axis] = Axis::Pair;
    axes[last] = Axis::Feature;
    return tracer.rows(baseOfViews(gather->data, shapes), axes);
  }
  if (auto joined = value.getDefiningOp<onnx::ConcatOp>(); joined &&
                                                           static_cast<int64_t>(joined.getInputs().size()) == experts &&
                                                           fromFront(joined.getAxis(), shapes.rank(value)) == 0) {
    SmallVector<Value> parts(joined.getInputs());
    std::optional<RowValue> rows = experts > 1 ? tracer.trace(parts) : std::nullopt;
    return {true, rows && rows->rows && rows->axes.front() == Axis::Pair ? rows : std::nullopt};
  }
  return RowTracer::Leaf::unknown();
}

bool farskip::raiseSorted(Operation *root, RaiseContext &context) {
  SymbolicShapes &shapes = context.shapes;
  std::optional<SortedEnd> end = sortedEnd(root, shapes);
  if (!end)
    return false;
  RowTracer tracer(context, root->getLoc());
  const Selection &selection = end->pairs.selection;
  std::optional<SymbolicExpr> tokens = shapes.elements(selection.experts).dividedBy(SymbolicExpr(selection.slots));
  if (!tokens)
    return false;
  tracer.tokens = *tokens;
  tracer.slots = selection.slots;
  tracer.experts = selection.count;
  tracer.leaf = [&](ArrayRef<Value> lanes) { return sortedLeaf(lanes, end->pairs, tracer, shapes); };
  std::optional<RowValue> result = tracer.trace({end->value});
  if (!result || result->axes != Axes{Axis::Pair, Axis::Feature})
    return false;
  Value y = tracer.build(*result, end->weights, selection.experts, root->getResult(0), root);
  if (!y)
    return false;
  root->getResult(0).replaceAllUsesWith(y);
  return true;
}
