// Blocks that compute every expert on every token, and weight what the token did not choose with zero.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/DenseWeights.h"
#include "passes/Recognise/ExpertForms.h"
#include "passes/Recognise/WeightedSum.h"

using namespace farskip;
using namespace mlir;

namespace {

/// All experts in one batched product, [E, T, D].
class DenseBlock {
public:
  DenseBlock(onnx::ReduceSumOp root, RaiseContext &context)
      : root(root), context(context), shapes(context.shapes), tracer(context, root.getLoc()) {}

  bool raise();

private:
  bool start(const DenseWeights &weights);
  RowTracer::Leaf leaf(Value value);
  std::optional<std::pair<Value, Axes>> repeated(Value value);
  bool weightedOnInput(Value value);

  onnx::ReduceSumOp root;
  RaiseContext &context;
  SymbolicShapes &shapes;
  RowTracer tracer;
  std::optional<DenseWeights> dense;
  bool onInput = false;
  llvm::DenseSet<Value> dependents;
};

} // namespace

/// Prepares the tracer for a block with these weights.
static bool setTracer(RowTracer &tracer, const Selection &selection, SymbolicShapes &shapes) {
  std::optional<SymbolicExpr> tokens = shapes.elements(selection.experts).dividedBy(SymbolicExpr(selection.slots));
  if (!tokens)
    return false;
  tracer.tokens = *tokens;
  tracer.slots = selection.slots;
  tracer.experts = selection.count;
  return true;
}

bool DenseBlock::start(const DenseWeights &weights) {
  dense = weights;
  if (weights.expert || !setTracer(tracer, weights.selection, shapes))
    return false;
  tracer.leaf = [this](ArrayRef<Value> lanes) { return leaf(lanes.front()); };
  // What depends on a product with the parameters of all experts.
  Operation *at = weights.selection.experts.getDefiningOp();
  if (at->getBlock() != root->getBlock())
    return false;
  for (at = at->getNextNode(); at && at != root; at = at->getNextNode()) {
    bool marked = false;
    for (Value operand : at->getOperands()) {
      marked |= dependents.contains(operand);
      if (isa<onnx::MatMulOp>(at) && isParameter(operand))
        marked |= shapes.rank(operand) >= 3 && shapes.shape(operand)[0].isConstant(tracer.experts);
    }
    if (marked)
      dependents.insert(at->result_begin(), at->result_end());
  }
  return true;
}

/// The tokens' rows, repeated for all experts by views, `Expand` and `Tile`, with the axes of the repetition.
std::optional<std::pair<Value, Axes>> DenseBlock::repeated(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && isa<onnx::ExpandOp, onnx::TileOp>(op) && !viewed(value, shapes)) {
    auto from = repeated(op->getOperand(0));
    if (!from)
      return std::nullopt;
    Dims before(shapes.shape(op->getOperand(0))), after(shapes.shape(value));
    size_t lead = after.size() - before.size();
    Axes axes;
    bool stretched = false;
    for (size_t i = 0; i < after.size(); ++i) {
      SymbolicExpr extent = i < lead ? SymbolicExpr(1) : before[i - lead];
      Axis axis = i < lead ? Axis::Unit : from->second[i - lead];
      if (after[i] != extent) {
        // A new axis of experts, or whole copies of all tokens, one per expert.
        bool copies = axis == Axis::Token && isa<onnx::TileOp>(op) &&
                      after[i] == extent * SymbolicExpr(tracer.experts) &&
                      llvm::all_of(axes, [](Axis a) { return a == Axis::Unit; });
        bool fresh = axis == Axis::Unit && after[i].isConstant(tracer.experts);
        if (stretched || (!copies && !fresh))
          return std::nullopt;
        axis = copies ? Axis::ExpertToken : Axis::Expert;
        stretched = true;
      }
      axes.push_back(axis);
    }
    return std::make_pair(from->first, axes);
  }
  if (Value from = op ? viewed(value, shapes) : Value()) {
    auto inner = repeated(from);
    if (!inner)
      return std::nullopt;
    Dims before(shapes.shape(from)), after(shapes.shape(value));
    std::optional<Axes> axes = tracer.reshapedAxes(before, inner->second, after);
    if (!axes)
      return std::nullopt;
    return std::make_pair(inner->first, *axes);
  }
  Dims dims(shapes.shape(value));
  if (dims.size() < 2 || !dims.back().constant() || shapes.elements(value) != tracer.tokens * dims.back())
    return std::nullopt;
  std::optional<Axes> axes = tracer.reshapedAxes({tracer.tokens, dims.back()}, {Axis::Token, Axis::Feature}, dims);
  if (!axes)
    return std::nullopt;
  return std::make_pair(value, *axes);
}

/// x · weights before the experts: with one expert per token this is what the expert is given.
bool DenseBlock::weightedOnInput(Value value) { return onInput && value.getDefiningOp<onnx::MulOp>(); }

RowTracer::Leaf DenseBlock::leaf(Value value) {
  if (isConstant(value)) {
    ArrayRef<SymbolicExpr> dims = shapes.shape(value);
    if (dims.size() < 2 || !dims[0].isConstant(tracer.experts))
      return RowTracer::Leaf::unknown();
    Axes axes{Axis::Expert};
    for (const SymbolicExpr &dim : dims.drop_front())
      axes.push_back(dim.isConstant(1) ? Axis::Unit : Axis::Feature);
    return tracer.parameter({value}, axes);
  }
  if (isParameter(value))
    return RowTracer::Leaf::unknown();
  if (weightedOnInput(value) && !dependents.contains(value)) {
    auto mul = value.getDefiningOp<onnx::MulOp>();
    for (auto [x, factor] : {std::pair(mul.getA(), mul.getB()), std::pair(mul.getB(), mul.getA())}) {
      std::optional<DenseWeights> weights = denseWeights(factor, tracer, shapes);
      auto rows = weights ? repeated(x) : std::nullopt;
      if (!rows || weights->weights != dense->weights || weights->applied != dense->applied ||
          rows->second.size() != weights->axes.size())
        continue;
      Axes expected = rows->second;
      expected.back() = Axis::Unit;
      if (expected != weights->axes)
        return RowTracer::Leaf::fail();
      return tracer.rows(rows->first, rows->second);
    }
    return RowTracer::Leaf::unknown();
  }
  if (dependents.contains(value) || onInput)
    return RowTracer::Leaf::unknown();
  auto rows = repeated(value);
  return rows ? tracer.rows(rows->first, rows->second) : RowTracer::Leaf::unknown();
}

/// The weights that `factor` is a view or transpose of. What the axes are is checked where the product is traced.
static std::optional<DenseWeights> spreadWeights(Value factor, RowTracer &tracer, SymbolicShapes &shapes) {
  constexpr int kMaxSteps = 8;
  for (int i = 0; i < kMaxSteps; ++i) {
    Operation *op = factor.getDefiningOp();
    if (!op || op->getNumOperands() == 0)
      return std::nullopt;
    if (isa<onnx::ScatterElementsOp, onnx::SigmoidOp, onnx::SoftmaxOp>(op))
      return denseWeights(factor, tracer, shapes);
    factor = op->getOperand(0);
  }
  return std::nullopt;
}

/// The first weights of all experts that `value` is computed from.
static std::optional<DenseWeights> weightsBehind(Value value, RowTracer &tracer, SymbolicShapes &shapes) {
  constexpr size_t kMaxSteps = 100;
  SmallVector<Value> work{value};
  llvm::DenseSet<Value> seen;
  for (size_t at = 0; at < work.size() && at < kMaxSteps; ++at) {
    Operation *op = work[at].getDefiningOp();
    if (!op)
      continue;
    if (auto mul = dyn_cast<onnx::MulOp>(op))
      for (Value factor : {mul.getA(), mul.getB()})
        if (std::optional<DenseWeights> found = spreadWeights(factor, tracer, shapes))
          return found;
    for (Value operand : op->getOperands())
      if (seen.insert(operand).second)
        work.push_back(operand);
  }
  return std::nullopt;
}

/// f(0) = 0: the experts that a token did not choose add nothing when they are given zeros.
static bool keepsZero(Block &body, Value result) {
  llvm::DenseSet<Value> zero{body.getArgument(0)};
  for (Operation &op : body) {
    if (op.getNumResults() != 1)
      continue;
    auto is = [&](Value operand) { return zero.contains(operand); };
    bool keeps = false;
    if (isa<onnx::MulOp>(op))
      keeps = llvm::any_of(op.getOperands(), is);
    else if (isa<onnx::AddOp, onnx::SubOp, onnx::ConcatOp>(op))
      keeps = llvm::all_of(op.getOperands(), is);
    else if (isa<onnx::MatMulOp, onnx::ReluOp, onnx::NegOp, onnx::TanhOp, onnx::GeluOp, onnx::SwishOp,
                 onnx::MsQuickGeluOp, onnx::ErfOp, onnx::SqrtOp, onnx::AbsOp, onnx::CastOp, onnx::SliceOp,
                 onnx::ReshapeOp, onnx::TransposeOp, onnx::UnsqueezeOp, onnx::GatherOp, onnx::DivOp>(op))
      keeps = is(op.getOperand(0));
    if (keeps)
      zero.insert(op.getResult(0));
  }
  return zero.contains(result);
}

bool DenseBlock::raise() {
  Value data = root.getData();
  Dims dims(shapes.shape(data));
  std::optional<int64_t> axis = root.getAxes() ? integerOf(root.getAxes(), shapes) : std::nullopt;
  if (!axis || fromFront(*axis, dims.size()) != 0 || dims.size() < 3 || !dims[0].constant() ||
      !dims.back().constant() || !isa<FloatType>(getElementTypeOrSelf(data.getType())))
    return false;
  Value value;
  Axes expected;
  if (auto mul = baseOfViews(data, shapes).getDefiningOp<onnx::MulOp>()) {
    tracer.experts = *dims[0].constant();
    for (auto [factor, other] : {std::pair(mul.getA(), mul.getB()), std::pair(mul.getB(), mul.getA())})
      if (std::optional<DenseWeights> found = denseWeights(factor, tracer, shapes)) {
        if (found->axes.size() != static_cast<size_t>(shapes.rank(other)) || found->axes.back() != Axis::Unit ||
            found->axes.front() != Axis::Expert)
          return false;
        expected = found->axes;
        expected.back() = Axis::Feature;
        value = other;
        if (!start(*found))
          return false;
        break;
      }
  }
  if (!value) {
    std::optional<DenseWeights> found = weightsBehind(data, tracer, shapes);
    if (!found || found->selection.slots != 1 || !start(*found))
      return false;
    onInput = true;
    value = data;
  }
  if (!dims[0].isConstant(tracer.experts) || !dependents.contains(value))
    return false;
  std::optional<RowValue> result = tracer.trace({value});
  if (!result)
    return false;
  if (onInput) {
    expected = {Axis::Expert};
    expected.append(dims.size() == 3 ? Axes{Axis::Token} : Axes{Axis::Batch, Axis::Sequence});
    expected.push_back(Axis::Feature);
    if (!keepsZero(*result->value.getParentBlock(), result->value))
      return false;
  }
  if (result->axes != expected)
    return false;
  GraphBuilder outside(context.builder, root.getLoc(), shapes);
  Value weights = chosenWeights(*dense, outside);
  if (onInput) {
    Value factor = outside.reshape(weights, {-1, 1});
    tracer.prepare = [factor](Value x, GraphBuilder &graph) {
      return graph.binary("Mul", x, graph.cast(factor, getElementTypeOrSelf(x.getType())));
    };
    Value one = outside.number(getElementTypeOrSelf(weights.getType()), 1);
    weights = outside.binary("Expand", one, outside.unary("Shape", factor));
  }
  Value y = tracer.build(*result, weights, dense->selection.experts, root.getReduced(), root);
  if (!y)
    return false;
  root.getReduced().replaceAllUsesWith(y);
  return true;
}

bool farskip::raiseDense(Operation *root, RaiseContext &context) {
  auto sum = dyn_cast<onnx::ReduceSumOp>(root);
  return sum && DenseBlock(sum, context).raise();
}

namespace {

/// What one expert adds to all tokens.
struct DenseContribution {
  DenseWeights weights;
  Value value;
};

} // namespace

static std::optional<DenseContribution> denseContribution(Value value, RowTracer &tracer, SymbolicShapes &shapes) {
  auto product = baseOfCasts(value, shapes).getDefiningOp<onnx::MulOp>();
  if (!product)
    return std::nullopt;
  for (auto [factor, rows] : {std::pair(product.getA(), product.getB()), std::pair(product.getB(), product.getA())})
    if (std::optional<DenseWeights> weights = denseWeights(factor, tracer, shapes))
      if (weights->expert && weights->axes.size() == static_cast<size_t>(shapes.rank(rows)) &&
          weights->axes.back() == Axis::Unit)
        return DenseContribution{*weights, rows};
  return std::nullopt;
}

bool farskip::raiseDenseLoop(Operation *root, RaiseContext &context) {
  SymbolicShapes &shapes = context.shapes;
  if (!isa<onnx::AddOp>(root))
    return false;
  RowTracer tracer(context, root->getLoc());
  SmallVector<DenseContribution> found;
  Value sum = root->getResult(0), rest;
  while (!rest) {
    if (std::optional<DenseContribution> last = denseContribution(sum, tracer, shapes)) {
      found.push_back(*last);
      break;
    }
    auto add = baseOfViews(sum, shapes).getDefiningOp<onnx::AddOp>();
    rest = sum;
    if (!add || add.getA().getType() != add.getB().getType())
      break;
    for (auto [before, added] : {std::pair(add.getA(), add.getB()), std::pair(add.getB(), add.getA())})
      if (std::optional<DenseContribution> part = denseContribution(added, tracer, shapes)) {
        found.push_back(*part);
        sum = before;
        rest = {};
        break;
      }
  }
  if (found.empty())
    return false;
  const DenseWeights first = found.front().weights;
  if (static_cast<int64_t>(found.size()) != first.selection.count || !setTracer(tracer, first.selection, shapes))
    return false;
  SmallVector<Value> lanes(first.selection.count);
  for (const DenseContribution &part : found) {
    int64_t number = *part.weights.expert;
    if (number < 0 || number >= first.selection.count || lanes[number] || part.weights.weights != first.weights ||
        part.weights.selection.experts != first.selection.experts || part.weights.axes != first.axes ||
        part.weights.applied != first.applied)
      return false;
    lanes[number] = part.value;
  }
  tracer.leaf = [&](ArrayRef<Value> values) {
    // What all experts share is what they all read.
    if (values.size() > 1 || isParameter(values.front()) || splatOf(values.front(), shapes))
      return RowTracer::Leaf::unknown();
    Value base = baseOfViews(values.front(), shapes);
    Dims dims(shapes.shape(values.front()));
    if (dims.size() < 2 || !dims.back().constant() || shapes.elements(base) != tracer.tokens * dims.back())
      return RowTracer::Leaf::fail();
    std::optional<Axes> axes = tracer.reshapedAxes({tracer.tokens, dims.back()}, {Axis::Token, Axis::Feature}, dims);
    return axes && shapes.shape(base).back() == dims.back() ? tracer.rows(base, *axes) : RowTracer::Leaf::fail();
  };
  std::optional<RowValue> result = tracer.trace(lanes);
  if (!result)
    return false;
  Axes expected = first.axes;
  expected.back() = Axis::Feature;
  if (result->axes != expected)
    return false;
  GraphBuilder outside(context.builder, root->getLoc(), shapes);
  Value y = tracer.build(*result, chosenWeights(first, outside), first.selection.experts, root->getResult(0), root);
  if (!y)
    return false;
  if (rest && splatOf(rest, shapes) != 0.0) {
    if (rest.getType() != y.getType())
      return false;
    y = outside.binary("Add", rest, y);
  }
  root->getResult(0).replaceAllUsesWith(y);
  return true;
}
