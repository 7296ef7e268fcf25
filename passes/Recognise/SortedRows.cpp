// Pairs of a token and a slot sorted by expert.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/SortedRows.h"
#include <cmath>
#include <limits>

using namespace farskip;
using namespace mlir;

/// A TopK of all elements of a vector, smallest first: a sort.
static bool isAscendingSort(onnx::TopKOp op, SymbolicShapes &shapes) {
  ArrayRef<SymbolicExpr> from = shapes.shape(op.getX()), to = shapes.shape(op.getIndices());
  return op.getLargest() == 0 && op.getSorted() == 1 && from.size() == 1 && from == to;
}

std::optional<SortedPairs> farskip::sortedPairs(Value index, SymbolicShapes &shapes) {
  Value base = baseOfCasts(index, shapes);
  auto sort = base.getDefiningOp<onnx::TopKOp>();
  if (!sort || base != sort.getIndices() || !isAscendingSort(sort, shapes))
    return std::nullopt;
  std::optional<Selection> selection = selectionOf(sort.getX(), shapes);
  if (!selection || shapes.elements(selection->experts) != shapes.elements(sort.getX()))
    return std::nullopt;
  return SortedPairs{sort.getIndices(), sort.getValues(), *selection};
}

std::optional<SortedPairs> farskip::inverseOrder(Value index, SymbolicShapes &shapes) {
  Value base = baseOfCasts(index, shapes);
  Operation *op = base.getDefiningOp();
  if (auto sort = dyn_cast_or_null<onnx::TopKOp>(op))
    return base == sort.getIndices() && isAscendingSort(sort, shapes) ? sortedPairs(sort.getX(), shapes) : std::nullopt;
  // inverse[order[i]] = i: the order has every number once, so nothing else of the data is left.
  Value indices, updates;
  if (auto scatter = dyn_cast_or_null<onnx::ScatterNDOp>(op)) {
    if (scatter.getReduction() != "none" || !shapes.shape(scatter.getIndices()).back().isConstant(1))
      return std::nullopt;
    indices = scatter.getIndices();
    updates = scatter.getUpdates();
  } else if (auto scatter = dyn_cast_or_null<onnx::ScatterElementsOp>(op)) {
    if (scatter.getReduction() != "none")
      return std::nullopt;
    indices = scatter.getIndices();
    updates = scatter.getUpdates();
  } else {
    return std::nullopt;
  }
  std::optional<SortedPairs> pairs = sortedPairs(indices, shapes);
  if (!pairs || shapes.rank(base) != 1 || shapes.elements(base) != shapes.elements(pairs->order) ||
      !isRange(updates, shapes.elements(pairs->order), shapes))
    return std::nullopt;
  return pairs;
}

std::optional<SortedPairs> farskip::sortedTokens(Value index, SymbolicShapes &shapes) {
  Value base = baseOfCasts(index, shapes);
  // Division rounds towards zero; exporters subtract a correction for numbers below it, of which there are none.
  if (auto corrected = base.getDefiningOp<onnx::SubOp>()) {
    auto cast = baseOfViews(corrected.getB(), shapes).getDefiningOp<onnx::CastOp>();
    if (!cast || !isFalse(cast.getInput(), shapes))
      return std::nullopt;
    base = baseOfCasts(corrected.getA(), shapes);
  }
  if (auto division = base.getDefiningOp<onnx::DivOp>()) {
    std::optional<SortedPairs> pairs = sortedPairs(division.getA(), shapes);
    if (!pairs || !getElementTypeOrSelf(base.getType()).isInteger() ||
        splatOf(division.getB(), shapes) != static_cast<double>(pairs->selection.slots))
      return std::nullopt;
    return pairs;
  }
  std::optional<SortedPairs> pairs = sortedPairs(base, shapes);
  return pairs && pairs->selection.slots == 1 ? pairs : std::nullopt;
}

bool farskip::isSortedExperts(Value index, const SortedPairs &pairs, SymbolicShapes &shapes) {
  Value base = baseOfCasts(index, shapes);
  if (base == pairs.experts)
    return true;
  std::optional<RowGather> gather = rowGather(base, shapes);
  return gather && gather->axis == 0 && shapes.rank(gather->data) == 1 &&
         baseOfCasts(gather->data, shapes) == pairs.selection.experts &&
         baseOfCasts(gather->index, shapes) == pairs.order;
}

/// What elementwise arithmetic with constants makes of each expert's number; nothing when `value` is not made of the
/// experts of all pairs, in any order.
static std::optional<SmallVector<double>> ofEachExpert(Value value, const SortedPairs &pairs, SymbolicShapes &shapes) {
  value = baseOfViews(value, shapes);
  Operation *op = value.getDefiningOp();
  if (value == pairs.selection.experts || isSortedExperts(value, pairs, shapes)) {
    SmallVector<double> numbers;
    for (int64_t e = 0; e < pairs.selection.count; ++e)
      numbers.push_back(e);
    return numbers;
  }
  if (!op || !isa<onnx::CastOp, onnx::DivOp, onnx::MulOp, onnx::AddOp, onnx::SubOp, onnx::FloorOp, onnx::ClipOp>(op))
    return std::nullopt;
  std::optional<SmallVector<double>> numbers = ofEachExpert(op->getOperand(0), pairs, shapes);
  if (!numbers)
    return std::nullopt;
  Type type = getElementTypeOrSelf(value.getType());
  if (!type.isF32() && !type.isF64() && !type.isSignlessInteger(64) && !type.isSignlessInteger(32))
    return std::nullopt;
  std::optional<double> second = op->getNumOperands() > 1 && !isa<onnx::ClipOp>(op) ? splatOf(op->getOperand(1), shapes)
                                                                                    : std::optional<double>(0);
  std::optional<double> low, high;
  if (auto clip = dyn_cast<onnx::ClipOp>(op)) {
    low = clip.getMin() ? splatOf(clip.getMin(), shapes) : -HUGE_VAL;
    high = clip.getMax() ? splatOf(clip.getMax(), shapes) : HUGE_VAL;
    if (!low || !high)
      return std::nullopt;
  }
  if (!second || (isa<onnx::DivOp>(op) && *second == 0))
    return std::nullopt;
  for (double &number : *numbers) {
    double result = number;
    if (isa<onnx::DivOp>(op))
      result = number / *second;
    else if (isa<onnx::MulOp>(op))
      result = number * *second;
    else if (isa<onnx::AddOp>(op))
      result = number + *second;
    else if (isa<onnx::SubOp>(op))
      result = number - *second;
    else if (isa<onnx::FloorOp>(op))
      result = std::floor(number);
    else if (isa<onnx::ClipOp>(op))
      result = std::min(std::max(number, *low), *high);
    number = type.isInteger() ? std::trunc(result) : type.isF32() ? static_cast<float>(result) : result;
  }
  return numbers;
}

/// Looks through casts between any numbers; counts are small integers.
static Value baseOfCounts(Value value, SymbolicShapes &shapes) {
  for (;;) {
    value = baseOfCasts(value, shapes);
    auto cast = value.getDefiningOp<onnx::CastOp>();
    if (!cast || getElementTypeOrSelf(cast.getInput().getType()).isInteger(1))
      return value;
    value = cast.getInput();
  }
}

bool farskip::isPairCount(Value counts, const SortedPairs &pairs, SymbolicShapes &shapes) {
  counts = baseOfCounts(counts, shapes);
  int64_t experts = pairs.selection.count;
  if (shapes.elements(counts) != SymbolicExpr(experts))
    return false;
  Operation *op = counts.getDefiningOp();
  if (auto scatter = dyn_cast_or_null<onnx::ScatterElementsOp>(op)) {
    // A histogram: one more for each pair at the place that its expert gives.
    if (scatter.getReduction() != "add" || shapes.rank(counts) != 1 || splatOf(scatter.getData(), shapes) != 0.0 ||
        splatOf(scatter.getUpdates(), shapes) != 1.0)
      return false;
    std::optional<SmallVector<double>> places = ofEachExpert(scatter.getIndices(), pairs, shapes);
    if (!places)
      return false;
    for (int64_t e = 0; e < experts; ++e)
      if ((*places)[e] != static_cast<double>(e))
        return false;
    return true;
  }
  if (auto sum = dyn_cast_or_null<onnx::ReduceSumOp>(op)) {
    // Ones in a comparison with every expert, summed over tokens and slots.
    std::optional<ChoiceMask> mask = choiceMask(sum.getData(), shapes);
    std::optional<SmallVector<int64_t>> axes =
        sum.getAxes() ? shapes.constants(sum.getAxes()) : std::optional<SmallVector<int64_t>>();
    if (!mask || !axes || mask->selection.experts != pairs.selection.experts || mask->depth != experts)
      return false;
    for (auto [i, axis] : llvm::enumerate(mask->axes)) {
      bool summed = llvm::any_of(
          *axes, [&, place = static_cast<int64_t>(i)](int64_t a) { return fromFront(a, mask->axes.size()) == place; });
      if (axis == Coordinate::Expert ? summed : !summed && axis != Coordinate::Unit)
        return false;
    }
    return llvm::is_contained(mask->axes, Coordinate::Expert);
  }
  return false;
}

/// The expert whose pairs end where `bound` says.
static std::optional<int64_t> endOf(Value bound, const SortedPairs &pairs, SymbolicShapes &shapes) {
  Value base = baseOfCounts(bound, shapes);
  std::optional<Part> part = partOf(base, shapes);
  if (!part || part->axis != 0 || shapes.rank(part->whole) != 1)
    return std::nullopt;
  auto sums = baseOfCounts(part->whole, shapes).getDefiningOp<onnx::CumSumOp>();
  if (!sums || sums.getExclusive() || sums.getReverse() || integerOf(sums.getAxis(), shapes) != 0 ||
      !isPairCount(sums.getX(), pairs, shapes))
    return std::nullopt;
  return part->index;
}

static bool spansExpert(Value start, Value end, int64_t number, const SortedPairs &pairs, SymbolicShapes &shapes) {
  bool begins = number == 0 ? splatOf(start, shapes) == 0.0 : endOf(start, pairs, shapes) == number - 1;
  if (!begins)
    return false;
  if (endOf(end, pairs, shapes) == number)
    return true;
  // The last expert's pairs may simply reach to the end.
  std::optional<int64_t> last = integerOf(end, shapes);
  return number == pairs.selection.count - 1 && last && *last == std::numeric_limits<int64_t>::max();
}

Value farskip::rowsOfExpert(Value part, int64_t number, const SortedPairs &pairs, SymbolicShapes &shapes) {
  if (std::optional<RowGather> gather = rowGather(part, shapes)) {
    auto range = baseOfCasts(gather->index, shapes).getDefiningOp<onnx::RangeOp>();
    bool fits = gather->axis == 0 && gather->indexAxes == 1 && range && integerOf(range.getDelta(), shapes) == 1 &&
                spansExpert(range.getStart(), range.getLimit(), number, pairs, shapes);
    return fits ? gather->data : Value();
  }
  Operation *op = part.getDefiningOp();
  if (auto slice = dyn_cast_or_null<onnx::SliceOp>(op)) {
    bool rows = !slice.getAxes() || integerOf(slice.getAxes(), shapes) == 0;
    bool steps = !slice.getSteps() || integerOf(slice.getSteps(), shapes) == 1;
    bool one = shapes.elements(slice.getStarts()).isConstant(1);
    return rows && steps && one && spansExpert(slice.getStarts(), slice.getEnds(), number, pairs, shapes)
               ? slice.getData()
               : Value();
  }
  if (auto split = dyn_cast_or_null<onnx::SplitOp>(op)) {
    bool fits = fromFront(split.getAxis(), shapes.rank(split.getInput())) == 0 && split.getSplit() &&
                cast<OpResult>(part).getResultNumber() == number && isPairCount(split.getSplit(), pairs, shapes);
    return fits ? split.getInput() : Value();
  }
  return {};
}
