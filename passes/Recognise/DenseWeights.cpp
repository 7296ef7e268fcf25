// Weights of all experts for every token.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/DenseWeights.h"
#include <cmath>

using namespace farskip;
using namespace mlir;

/// Weights of the chosen experts placed among those of all: [T, K] at [T, E].
static std::optional<DenseWeights> scattered(onnx::ScatterElementsOp op, double filling, SymbolicShapes &shapes) {
  std::optional<Selection> selection = selectionOf(op.getIndices(), shapes);
  int64_t rank = shapes.rank(op.getOutput());
  std::optional<double> fill = splatOf(op.getData(), shapes);
  bool placed = op.getReduction() == "none" || (op.getReduction() == "add" && filling == 0);
  // The lowest finite number stands for minus infinity.
  bool filled = fill && (*fill == filling || (std::isinf(filling) && *fill <= -3e38));
  if (!selection || !selection->distinct || rank != 2 || fromFront(op.getAxis(), rank) != 1 || !filled || !placed ||
      !shapes.shape(op.getOutput())[1].isConstant(selection->count) ||
      shapes.shape(op.getIndices()) != shapes.shape(op.getUpdates()) ||
      shapes.elements(op.getUpdates()) != shapes.elements(selection->experts) ||
      shapes.shape(op.getOutput())[0] != shapes.shape(op.getUpdates())[0])
    return std::nullopt;
  return DenseWeights{*selection, op.getUpdates(), {}, {Axis::Token, Axis::Expert}, std::nullopt};
}

/// Σ over the slots of weight · (is the expert of the slot this one?).
static std::optional<DenseWeights> masked(onnx::ReduceSumOp op, RowTracer &tracer, SymbolicShapes &shapes) {
  std::optional<int64_t> reduced = op.getAxes() ? integerOf(op.getAxes(), shapes) : std::nullopt;
  Operation *product = baseOfViews(op.getData(), shapes).getDefiningOp();
  if (!reduced || !product || product->getResult(0) != op.getData())
    return std::nullopt;
  SmallVector<std::pair<Value, Value>> pairs;
  if (auto mul = dyn_cast<onnx::MulOp>(product)) {
    pairs = {{mul.getA(), mul.getB()}, {mul.getB(), mul.getA()}};
  } else if (auto where = dyn_cast<onnx::WhereOp>(product)) {
    if (splatOf(where.getY(), shapes) == 0.0)
      pairs = {{where.getCondition(), where.getX()}};
  }
  int64_t rank = shapes.rank(op.getData());
  for (auto [comparison, weights] : pairs) {
    std::optional<ChoiceMask> mask = choiceMask(comparison, shapes);
    if (!mask || static_cast<int64_t>(mask->axes.size()) != rank ||
        shapes.elements(weights) != shapes.elements(mask->selection.experts))
      continue;
    int64_t slot = fromFront(*reduced, rank);
    bool unit = mask->selection.slots == 1 && mask->axes[slot] == Coordinate::Unit;
    if (mask->axes[slot] != Coordinate::Slot && !unit)
      continue;
    if (!mask->expert && mask->depth != mask->selection.count)
      continue;
    // The weights stand where the comparison has the tokens and slots.
    Dims wide(shapes.shape(comparison)), narrow(shapes.shape(weights));
    if (narrow.size() > wide.size())
      continue;
    bool fits = true;
    size_t lead = wide.size() - narrow.size();
    for (size_t i = 0; i < wide.size(); ++i) {
      bool chosen = mask->axes[i] == Coordinate::Token || mask->axes[i] == Coordinate::Slot;
      SymbolicExpr extent = i < lead ? SymbolicExpr(1) : narrow[i - lead];
      fits &= extent == (chosen ? wide[i] : SymbolicExpr(1));
    }
    auto afterSlot = ArrayRef<Coordinate>(mask->axes).drop_until([](Coordinate a) { return a == Coordinate::Slot; });
    bool ordered = !llvm::is_contained(afterSlot, Coordinate::Token);
    if (!fits || !ordered)
      continue;
    Axes axes;
    SmallVector<Axis> tokens;
    int64_t tokenAxes = llvm::count(mask->axes, Coordinate::Token);
    if (tokenAxes > 2)
      continue;
    int64_t seen = 0;
    for (auto [i, axis] : llvm::enumerate(mask->axes)) {
      if (static_cast<int64_t>(i) == slot) {
        if (op.getKeepdims())
          axes.push_back(Axis::Unit);
        continue;
      }
      if (axis == Coordinate::Token)
        axes.push_back(tokenAxes == 1 ? Axis::Token : seen++ == 0 ? Axis::Batch : Axis::Sequence);
      else
        axes.push_back(axis == Coordinate::Expert ? Axis::Expert : Axis::Unit);
    }
    return DenseWeights{mask->selection, weights, {}, axes, mask->expert};
  }
  return std::nullopt;
}

std::optional<DenseWeights> farskip::denseWeights(Value value, RowTracer &tracer, SymbolicShapes &shapes) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto scatter = dyn_cast<onnx::ScatterElementsOp>(op))
    return scattered(scatter, 0, shapes);
  if (auto sum = dyn_cast<onnx::ReduceSumOp>(op))
    return masked(sum, tracer, shapes);
  if (auto cast = dyn_cast<onnx::CastOp>(op)) {
    if (!isa<FloatType>(getElementTypeOrSelf(cast.getInput().getType())) ||
        !isa<FloatType>(getElementTypeOrSelf(value.getType())))
      return std::nullopt;
    return denseWeights(cast.getInput(), tracer, shapes);
  }
  if (isa<onnx::SigmoidOp, onnx::SoftmaxOp>(op)) {
    // Both make zero of minus infinity, and of the rest what they make of the chosen ones alone.
    auto scatter = baseOfCasts(op->getOperand(0), shapes).getDefiningOp<onnx::ScatterElementsOp>();
    std::optional<DenseWeights> dense = scatter ? scattered(scatter, -HUGE_VAL, shapes) : std::nullopt;
    auto softmax = dyn_cast<onnx::SoftmaxOp>(op);
    if (!dense || (softmax && fromFront(softmax.getAxis(), 2) != 1))
      return std::nullopt;
    dense->applied.push_back(op);
    return dense;
  }
  std::optional<DenseWeights> dense;
  if (auto transpose = dyn_cast<onnx::TransposeOp>(op)) {
    dense = denseWeights(transpose.getData(), tracer, shapes);
    if (!dense)
      return std::nullopt;
    Axes axes;
    int64_t rank = dense->axes.size();
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(dense->axes[transpose.getPerm() ? (*transpose.getPerm())[i] : rank - 1 - i]);
    dense->axes = axes;
    return dense;
  }
  if (Value from = viewed(value, shapes)) {
    dense = denseWeights(from, tracer, shapes);
    if (!dense)
      return std::nullopt;
    Dims before(shapes.shape(from)), after(shapes.shape(value));
    std::optional<Axes> axes = tracer.reshapedAxes(before, dense->axes, after);
    if (!axes)
      return std::nullopt;
    dense->axes = *axes;
    return dense;
  }
  if (std::optional<Part> part = partOf(value, shapes)) {
    dense = denseWeights(part->whole, tracer, shapes);
    if (!dense || dense->expert || dense->axes[part->axis] != Axis::Expert)
      return std::nullopt;
    dense->expert = part->index;
    // `partOf` may have looked through views; the operation itself keeps the axis or drops it.
    if (shapes.rank(value) == shapes.rank(part->whole))
      dense->axes[part->axis] = Axis::Unit;
    else
      dense->axes.erase(dense->axes.begin() + part->axis);
    return dense;
  }
  return std::nullopt;
}

Value farskip::chosenWeights(const DenseWeights &dense, GraphBuilder &graph) {
  Value weights = dense.weights;
  for (Operation *op : llvm::reverse(dense.applied))
    weights = isa<onnx::SoftmaxOp>(op) ? graph.softmax(weights, -1) : graph.unary("Sigmoid", weights);
  return weights;
}
