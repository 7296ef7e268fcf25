// The rows that one expert of a loop works on.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/HitRows.h"

using namespace farskip;
using namespace mlir;

/// The axes of a router's choice: the slots come last, what precedes them counts tokens.
static std::optional<SmallVector<Coordinate>> choiceAxes(Value experts, const Selection &selection,
                                                         SymbolicShapes &shapes) {
  ArrayRef<SymbolicExpr> dims = shapes.shape(experts);
  SmallVector<Coordinate> axes;
  SymbolicExpr tokens(1);
  bool slot = selection.slots == 1;
  for (const SymbolicExpr &dim : llvm::reverse(dims)) {
    if (dim.isConstant(1)) {
      axes.push_back(Coordinate::Unit);
    } else if (!slot) {
      if (!dim.isConstant(selection.slots))
        return std::nullopt;
      axes.push_back(Coordinate::Slot);
      slot = true;
    } else {
      axes.push_back(Coordinate::Token);
      tokens = tokens * dim;
    }
  }
  if (!slot || tokens * SymbolicExpr(selection.slots) != shapes.elements(experts))
    return std::nullopt;
  std::reverse(axes.begin(), axes.end());
  return axes;
}

static std::optional<ChoiceMask> oneHotMask(onnx::OneHotOp op, SymbolicShapes &shapes) {
  std::optional<Selection> selection = selectionOf(op.getIndices(), shapes);
  std::optional<int64_t> depth = integerOf(op.getDepth(), shapes);
  Value values = op.getValues();
  std::optional<SmallVector<int64_t>> contents = shapes.constants(values);
  if (!contents) {
    auto constant = values.getDefiningOp<onnx::ConstantOp>();
    auto dense = constant ? dyn_cast_or_null<DenseElementsAttr>(constant.getValue().value_or(ElementsAttr())) : nullptr;
    if (dense && isa<FloatType>(dense.getElementType()) && dense.getNumElements() == 2) {
      auto floats = dense.getValues<APFloat>();
      if (floats[0].isZero() && floats[1].isExactlyValue(1.0))
        contents = {0, 1};
    }
  }
  if (!selection || !depth || contents != SmallVector<int64_t>{0, 1})
    return std::nullopt;
  std::optional<SmallVector<Coordinate>> axes = choiceAxes(op.getIndices(), *selection, shapes);
  if (!axes)
    return std::nullopt;
  int64_t axis = fromFront(op.getAxis(), axes->size() + 1);
  axes->insert(axes->begin() + axis, Coordinate::Expert);
  return ChoiceMask{*selection, *axes, *depth, std::nullopt};
}

static std::optional<ChoiceMask> equalMask(onnx::EqualOp op, SymbolicShapes &shapes) {
  for (auto [experts, numbers] : {std::pair(op.getA(), op.getB()), std::pair(op.getB(), op.getA())}) {
    std::optional<Selection> selection = selectionOf(experts, shapes);
    if (!selection)
      continue;
    std::optional<SmallVector<Coordinate>> chosen = choiceAxes(experts, *selection, shapes);
    if (!chosen)
      continue;
    ChoiceMask mask{*selection, {}, 0, std::nullopt};
    size_t rank = shapes.rank(op.getC());
    mask.axes.assign(rank, Coordinate::Unit);
    llvm::copy(*chosen, mask.axes.begin() + (rank - chosen->size()));
    SymbolicExpr count = shapes.elements(numbers);
    if (count.isConstant(1)) {
      mask.expert = integerOf(baseOfCasts(numbers, shapes), shapes);
      if (!mask.expert)
        continue;
      return mask;
    }
    if (!count.constant() || !isIota(numbers, *count.constant(), shapes))
      continue;
    ArrayRef<SymbolicExpr> dims = shapes.shape(numbers);
    bool fits = true;
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (dim.isConstant(1))
        continue;
      Coordinate &axis = mask.axes[rank - dims.size() + i];
      fits &= axis == Coordinate::Unit;
      axis = Coordinate::Expert;
    }
    if (!fits)
      continue;
    mask.depth = *count.constant();
    return mask;
  }
  return std::nullopt;
}

/// Axes of a view: the axes of more than one element keep their order.
static std::optional<SmallVector<Coordinate>> viewedAxes(ArrayRef<SymbolicExpr> from, ArrayRef<Coordinate> axes,
                                                         ArrayRef<SymbolicExpr> to) {
  SmallVector<Coordinate> result;
  size_t i = 0;
  auto skip = [&] {
    while (i < from.size() && axes[i] == Coordinate::Unit)
      ++i;
  };
  for (const SymbolicExpr &dim : to) {
    skip();
    if (i < from.size() && from[i] == dim)
      result.push_back(axes[i++]);
    else if (dim.isConstant(1))
      result.push_back(Coordinate::Unit);
    else
      return std::nullopt;
  }
  skip();
  return i == from.size() ? std::optional(result) : std::nullopt;
}

std::optional<ChoiceMask> farskip::choiceMask(Value value, SymbolicShapes &shapes) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto hot = dyn_cast<onnx::OneHotOp>(op))
    return oneHotMask(hot, shapes);
  if (auto equal = dyn_cast<onnx::EqualOp>(op))
    return equalMask(equal, shapes);
  if (isa<onnx::CastOp, onnx::CastLikeOp>(op))
    return choiceMask(op->getOperand(0), shapes);
  if (auto transpose = dyn_cast<onnx::TransposeOp>(op)) {
    std::optional<ChoiceMask> mask = choiceMask(transpose.getData(), shapes);
    if (!mask)
      return std::nullopt;
    SmallVector<Coordinate> axes;
    int64_t rank = mask->axes.size();
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(mask->axes[transpose.getPerm() ? (*transpose.getPerm())[i] : rank - 1 - i]);
    mask->axes = axes;
    return mask;
  }
  if (std::optional<Part> part = partOf(value, shapes)) {
    std::optional<ChoiceMask> mask = choiceMask(part->whole, shapes);
    if (!mask || mask->axes[part->axis] != Coordinate::Expert)
      return std::nullopt;
    Dims dims(shapes.shape(part->whole));
    mask->axes.erase(mask->axes.begin() + part->axis);
    dims.erase(dims.begin() + part->axis);
    mask->expert = part->index;
    std::optional<SmallVector<Coordinate>> axes = viewedAxes(dims, mask->axes, shapes.shape(value));
    if (!axes)
      return std::nullopt;
    mask->axes = *axes;
    return mask;
  }
  if (Value from = viewed(value, shapes)) {
    std::optional<ChoiceMask> mask = choiceMask(from, shapes);
    std::optional<SmallVector<Coordinate>> axes =
        mask ? viewedAxes(shapes.shape(from), mask->axes, shapes.shape(value)) : std::nullopt;
    if (!axes)
      return std::nullopt;
    mask->axes = *axes;
    return mask;
  }
  return std::nullopt;
}

/// The NonZero of which `index` is one row, and which.
static std::optional<std::pair<onnx::NonZeroOp, int64_t>> coordinateOf(Value index, SymbolicShapes &shapes) {
  Value base = baseOfCasts(index, shapes);
  if (auto only = base.getDefiningOp<onnx::NonZeroOp>())
    return shapes.shape(base)[0].isConstant(1) ? std::optional(std::make_pair(only, int64_t{0})) : std::nullopt;
  std::optional<Part> part = partOf(base, shapes);
  if (!part)
    return std::nullopt;
  Value whole = part->whole;
  int64_t axis = part->axis;
  if (auto transpose = whole.getDefiningOp<onnx::TransposeOp>()) {
    if (shapes.rank(whole) != 2)
      return std::nullopt;
    whole = transpose.getData();
    axis = 1 - axis;
  }
  auto places = whole.getDefiningOp<onnx::NonZeroOp>();
  if (!places || axis != 0)
    return std::nullopt;
  return std::make_pair(places, part->index);
}

static std::optional<HitRows> hitRows(Value index, Coordinate wanted, SymbolicShapes &shapes) {
  auto coordinate = coordinateOf(index, shapes);
  if (!coordinate)
    return std::nullopt;
  auto [places, number] = *coordinate;
  std::optional<ChoiceMask> mask = choiceMask(places.getX(), shapes);
  if (!mask || !mask->expert || llvm::count(mask->axes, Coordinate::Token) != 1 ||
      llvm::is_contained(mask->axes, Coordinate::Expert) || number >= static_cast<int64_t>(mask->axes.size()) ||
      mask->axes[number] != wanted)
    return std::nullopt;
  return HitRows{places.getResult(), *mask};
}

bool farskip::sameRows(const HitRows &a, const HitRows &b) {
  return a.places == b.places || (a.mask.expert == b.mask.expert && a.mask.axes == b.mask.axes &&
                                  a.mask.selection.experts == b.mask.selection.experts);
}

std::optional<HitRows> farskip::hitTokens(Value index, SymbolicShapes &shapes) {
  return hitRows(index, Coordinate::Token, shapes);
}
std::optional<HitRows> farskip::hitSlots(Value index, SymbolicShapes &shapes) {
  return hitRows(index, Coordinate::Slot, shapes);
}

std::optional<RowGather> farskip::rowGather(Value value, SymbolicShapes &shapes) {
  Operation *op = value.getDefiningOp();
  if (auto gather = dyn_cast_or_null<onnx::GatherOp>(op))
    return RowGather{gather.getData(), gather.getIndices(), fromFront(gather.getAxis(), shapes.rank(gather.getData())),
                     shapes.rank(gather.getIndices())};
  if (auto gather = dyn_cast_or_null<onnx::GatherNDOp>(op)) {
    ArrayRef<SymbolicExpr> dims = shapes.shape(gather.getIndices());
    if (gather.getBatchDims() == 0 && dims.back().isConstant(1))
      return RowGather{gather.getData(), gather.getIndices(), 0, static_cast<int64_t>(dims.size()) - 1};
  }
  return std::nullopt;
}

/// token · slots + slot.
static bool isPairNumber(Value index, const HitRows &rows, SymbolicShapes &shapes) {
  auto is = [&](const std::optional<HitRows> &found) { return found && sameRows(*found, rows); };
  if (rows.mask.selection.slots == 1)
    return is(hitTokens(index, shapes));
  auto sum = baseOfCasts(index, shapes).getDefiningOp<onnx::AddOp>();
  if (!sum)
    return false;
  for (auto [scaled, slot] : {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())}) {
    auto product = baseOfCasts(scaled, shapes).getDefiningOp<onnx::MulOp>();
    if (!product || !is(hitSlots(slot, shapes)))
      continue;
    for (auto [token, factor] : {std::pair(product.getA(), product.getB()), std::pair(product.getB(), product.getA())})
      if (is(hitTokens(token, shapes)) && splatOf(factor, shapes) == static_cast<double>(rows.mask.selection.slots))
        return true;
  }
  return false;
}

Value farskip::pickedWeights(Value value, const HitRows &rows, SymbolicShapes &shapes) {
  Value base = baseOfCasts(value, shapes);
  int64_t slots = rows.mask.selection.slots;
  SymbolicExpr pairs = shapes.elements(rows.mask.selection.experts);
  auto is = [&](const std::optional<HitRows> &found) { return found && sameRows(*found, rows); };
  if (std::optional<RowGather> gather = rowGather(base, shapes)) {
    // From the weights laid end to end.
    if (shapes.shape(gather->data)[gather->axis] != pairs || shapes.elements(gather->data) != pairs ||
        !isPairNumber(gather->index, rows, shapes))
      return {};
    return baseOfViews(gather->data, shapes);
  }
  if (auto gather = base.getDefiningOp<onnx::GatherNDOp>()) {
    // From tokens × slots by pairs of numbers.
    ArrayRef<SymbolicExpr> dims = shapes.shape(gather.getData());
    auto joined = baseOfCasts(gather.getIndices(), shapes).getDefiningOp<onnx::ConcatOp>();
    if (gather.getBatchDims() != 0 || dims.size() < 2 || !dims[1].isConstant(slots) ||
        shapes.elements(gather.getData()) != pairs || dims[0] * SymbolicExpr(slots) != pairs || !joined ||
        joined.getInputs().size() != 2 || fromFront(joined.getAxis(), shapes.rank(joined)) != shapes.rank(joined) - 1 ||
        !is(hitTokens(joined.getInputs()[0], shapes)) || !is(hitSlots(joined.getInputs()[1], shapes)))
      return {};
    return baseOfViews(gather.getData(), shapes);
  }
  return {};
}
