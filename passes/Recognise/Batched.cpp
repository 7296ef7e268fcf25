// Blocks that compute all pairs of a token and a slot at once, with the expert's weights gathered for each pair.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/ExpertForms.h"
#include "passes/Recognise/RowTracer.h"
#include "passes/Recognise/WeightedSum.h"

using namespace farskip;
using namespace mlir;

namespace {

/// A batched block whose sum is known: traces the pairs.
class BatchedBlock {
public:
  BatchedBlock(const WeightedSum &sum, Operation *root, RaiseContext &context)
      : sum(sum), root(root), shapes(context.shapes), tracer(context, root->getLoc()) {}

  Value raise();

private:
  bool findSelection();
  bool markDependents();
  std::optional<Axes> pairAxes(ArrayRef<SymbolicExpr> to) {
    return tracer.reshapedAxes({sum.tokens, SymbolicExpr(sum.slots)}, {Axis::Token, slotAxis()}, to);
  }
  Axis slotAxis() const { return sum.slots == 1 ? Axis::Unit : Axis::Slot; }
  /// The axes of indices that number the experts of pairs.
  std::optional<Axes> expertAxes(Value indices);
  std::optional<Axes> tokenAxes(Value indices);
  RowTracer::Leaf leaf(Value value);
  /// `value` as the tokens' rows, repeated for the slots.
  RowTracer::Leaf repeated(Value value);
  std::optional<std::pair<Value, Axes>> repeatedAxes(Value value);

  const WeightedSum &sum;
  Operation *root;
  SymbolicShapes &shapes;
  RowTracer tracer;
  std::optional<Selection> selection;
  llvm::DenseSet<Value> dependents; ///< of gathered parameters
};

} // namespace

/// The stack and the indices when `op` gathers slices along the leading axis.
static std::optional<std::pair<Value, Value>> gatheredSlices(Operation *op, SymbolicShapes &shapes) {
  if (auto gather = dyn_cast<onnx::GatherOp>(op))
    if (fromFront(gather.getAxis(), shapes.rank(gather.getData())) == 0)
      return std::make_pair(gather.getData(), gather.getIndices());
  if (auto gather = dyn_cast<onnx::GatherNDOp>(op))
    if (gather.getBatchDims() == 0 && shapes.shape(gather.getIndices()).back().isConstant(1))
      return std::make_pair(gather.getData(), gather.getIndices());
  return std::nullopt;
}

bool BatchedBlock::findSelection() {
  constexpr size_t kMaxSteps = 400;
  SmallVector<Value> work{sum.value};
  llvm::DenseSet<Value> seen;
  for (size_t at = 0; at < work.size() && at < kMaxSteps; ++at) {
    Operation *op = work[at].getDefiningOp();
    if (!op)
      continue;
    if (auto gathered = gatheredSlices(op, shapes); gathered && isParameter(gathered->first)) {
      selection = selectionOf(gathered->second, shapes);
      if (selection && selection->slots == sum.slots &&
          shapes.elements(selection->experts) == sum.tokens * SymbolicExpr(sum.slots) &&
          shapes.shape(gathered->first)[0].isConstant(selection->count))
        return true;
    }
    for (Value operand : op->getOperands())
      if (seen.insert(operand).second)
        work.push_back(operand);
  }
  selection.reset();
  return false;
}

bool BatchedBlock::markDependents() {
  Operation *at = selection->experts.getDefiningOp();
  if (at->getBlock() != root->getBlock())
    return false;
  for (at = at->getNextNode(); at && at != root; at = at->getNextNode()) {
    auto gathered = gatheredSlices(at, shapes);
    bool marked = gathered && isParameter(gathered->first) && expertAxes(gathered->second);
    for (Value operand : at->getOperands())
      marked |= dependents.contains(operand);
    if (marked)
      dependents.insert(at->result_begin(), at->result_end());
  }
  return dependents.contains(sum.value);
}

std::optional<Axes> BatchedBlock::expertAxes(Value indices) {
  if (baseOfCasts(indices, shapes) != selection->experts)
    return std::nullopt;
  return pairAxes(shapes.shape(indices));
}

std::optional<Axes> BatchedBlock::tokenAxes(Value indices) {
  std::optional<PairTokens> pairs = pairTokens(indices, shapes);
  if (!pairs || pairs->tokens != sum.tokens || pairs->slots != sum.slots)
    return std::nullopt;
  return pairAxes(shapes.shape(indices));
}

std::optional<std::pair<Value, Axes>> BatchedBlock::repeatedAxes(Value value) {
  Operation *op = value.getDefiningOp();
  if (op) {
    if (isa<onnx::ExpandOp, onnx::TileOp>(op) && !viewed(value, shapes)) {
      auto from = repeatedAxes(op->getOperand(0));
      if (!from)
        return std::nullopt;
      Dims before(shapes.shape(op->getOperand(0))), after(shapes.shape(value));
      size_t lead = after.size() - before.size();
      Axes axes;
      for (size_t i = 0; i < after.size(); ++i) {
        SymbolicExpr extent = i < lead ? SymbolicExpr(1) : before[i - lead];
        Axis axis = i < lead ? Axis::Unit : from->second[i - lead];
        if (axis == Axis::Unit && after[i].isConstant(sum.slots) && !after[i].isConstant(1)) {
          // Slots come after their tokens.
          if (llvm::is_contained(from->second, Axis::Slot) || llvm::is_contained(from->second, Axis::Pair) ||
              llvm::none_of(axes, [](Axis a) { return a == Axis::Token || a == Axis::Sequence; }))
            return std::nullopt;
          axis = Axis::Slot;
        } else if (after[i] != extent) {
          return std::nullopt;
        }
        axes.push_back(axis);
      }
      return std::make_pair(from->first, axes);
    }
    if (Value from = viewed(value, shapes)) {
      if (auto axes = repeatedAxes(from)) {
        Dims before(shapes.shape(from)), after(shapes.shape(value));
        if (auto mine = tracer.reshapedAxes(before, axes->second, after))
          return std::make_pair(axes->first, *mine);
      }
      return std::nullopt;
    }
    if (auto gathered = gatheredSlices(op, shapes))
      if (std::optional<Axes> axes = tokenAxes(gathered->second)) {
        if (isa<onnx::GatherNDOp>(op))
          axes->pop_back();
        Value base = baseOfViews(gathered->first, shapes);
        for (size_t i = 1; i < shapes.shape(gathered->first).size(); ++i)
          axes->push_back(shapes.shape(gathered->first)[i].isConstant(1) ? Axis::Unit : Axis::Feature);
        return std::make_pair(base, *axes);
      }
  }
  ArrayRef<SymbolicExpr> dims = shapes.shape(value);
  if (dims.size() < 2 || !dims.back().constant() || shapes.elements(value) != sum.tokens * dims.back())
    return std::nullopt;
  std::optional<Axes> axes = tracer.reshapedAxes({sum.tokens, dims.back()}, {Axis::Token, Axis::Feature}, dims);
  if (!axes)
    return std::nullopt;
  return std::make_pair(value, *axes);
}

RowTracer::Leaf BatchedBlock::repeated(Value value) {
  auto found = repeatedAxes(value);
  if (!found)
    return RowTracer::Leaf::unknown();
  SymbolicExpr width = shapes.shape(found->first).back();
  if (!width.constant() || shapes.elements(found->first) != sum.tokens * width)
    return RowTracer::Leaf::fail();
  return tracer.rows(found->first, found->second);
}

RowTracer::Leaf BatchedBlock::leaf(Value value) {
  if (isConstant(value))
    return RowTracer::Leaf::unknown();
  Operation *op = value.getDefiningOp();
  if (auto gathered = op ? gatheredSlices(op, shapes) : std::nullopt; gathered && isParameter(gathered->first))
    if (std::optional<Axes> axes = expertAxes(gathered->second)) {
      if (isa<onnx::GatherNDOp>(op))
        axes->pop_back();
      for (const SymbolicExpr &dim : shapes.shape(gathered->first).drop_front())
        axes->push_back(dim.isConstant(1) ? Axis::Unit : Axis::Feature);
      return tracer.parameter({gathered->first}, *axes);
    }
  return dependents.contains(value) ? RowTracer::Leaf::unknown() : repeated(value);
}

Value BatchedBlock::raise() {
  if (!findSelection())
    return {};
  tracer.tokens = sum.tokens;
  tracer.slots = sum.slots;
  tracer.experts = selection->count;
  tracer.leaf = [this](ArrayRef<Value> lanes) { return leaf(lanes.front()); };
  if (!markDependents())
    return {};
  std::optional<RowValue> result = tracer.trace({sum.value});
  if (!result)
    return {};
  Dims dims(shapes.shape(sum.value));
  std::optional<Axes> wanted = tracer.reshapedAxes({sum.tokens, SymbolicExpr(sum.slots), SymbolicExpr(sum.width)},
                                                   {Axis::Token, slotAxis(), Axis::Feature}, dims);
  if (!wanted || *wanted != result->axes)
    return {};
  return tracer.build(*result, sum.weights, selection->experts, root->getResult(0), root);
}

bool farskip::raiseBatched(Operation *root, RaiseContext &context) {
  std::optional<WeightedSum> sum = weightedSum(root, context.shapes);
  if (!sum)
    return false;
  Value y = BatchedBlock(*sum, root, context).raise();
  if (!y)
    return false;
  root->getResult(0).replaceAllUsesWith(y);
  return true;
}
