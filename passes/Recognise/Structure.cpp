// What values of the onnx dialect are, told by structure.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/Structure.h"
#include <cmath>

using namespace farskip;
using namespace mlir;

/// Proven to be 0 or 1.
static bool atMostOne(const SymbolicExpr &extent, SymbolicShapes &shapes) {
  if (extent.isConstant(0) || extent.isConstant(1))
    return true;
  std::optional<SymbolicExpr::Symbol> symbol = extent.asSymbol();
  if (!symbol)
    return false;
  const SymbolDefinition &definition = shapes.definition(*symbol);
  return definition.kind == SymbolDefinition::Kind::Min &&
         (definition.lhs.isConstant(1) || definition.rhs.isConstant(1));
}

/// An `Expand` whose result has the elements of its operand in every run that does not fail. A target of min(1, n) is
/// what exporters make of an empty or whole slice: it stretches nothing.
static bool stretchesNothing(onnx::ExpandOp op, SymbolicShapes &shapes) {
  ArrayRef<SymbolicExpr> from = shapes.shape(op.getInput()), to = shapes.shape(op.getOutput());
  const Dims *target = shapes.contents(op.getShape());
  size_t lead = to.size() - from.size();
  for (size_t i = 0; i < to.size(); ++i) {
    SymbolicExpr extent = i < lead ? SymbolicExpr(1) : from[i - lead];
    if (to[i] == extent)
      continue;
    if (!target || target->size() > to.size())
      return false;
    size_t shift = to.size() - target->size();
    if (i >= shift && !atMostOne((*target)[i - shift], shapes))
      return false;
  }
  return true;
}

static bool keepsOrder(onnx::TransposeOp op, SymbolicShapes &shapes) {
  std::optional<ArrayRef<int64_t>> perm = op.getPerm();
  ArrayRef<SymbolicExpr> dims = shapes.shape(op.getData());
  int64_t last = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t from = perm ? (*perm)[i] : dims.size() - 1 - i;
    if (dims[from].isConstant(1))
      continue;
    if (from < last)
      return false;
    last = from;
  }
  return true;
}

Value farskip::viewed(Value value, SymbolicShapes &shapes) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (isa<onnx::ReshapeOp, onnx::SqueezeOp, onnx::UnsqueezeOp, onnx::FlattenOp, onnx::IdentityOp>(op))
    return op->getOperand(0);
  if (isa<onnx::CastOp, onnx::CastLikeOp>(op))
    return getElementTypeOrSelf(op->getOperand(0).getType()) == getElementTypeOrSelf(value.getType())
               ? op->getOperand(0)
               : Value();
  if (auto concat = dyn_cast<onnx::ConcatOp>(op))
    return concat.getInputs().size() == 1 ? concat.getInputs().front() : Value();
  if (auto transpose = dyn_cast<onnx::TransposeOp>(op))
    return keepsOrder(transpose, shapes) ? transpose.getData() : Value();
  if (auto expand = dyn_cast<onnx::ExpandOp>(op))
    return stretchesNothing(expand, shapes) ? expand.getInput() : Value();
  if (auto tile = dyn_cast<onnx::TileOp>(op))
    return shapes.shape(tile.getInput()) == shapes.shape(value) ? tile.getInput() : Value();
  return {};
}

Value farskip::baseOfViews(Value value, SymbolicShapes &shapes) {
  while (Value from = viewed(value, shapes))
    value = from;
  return value;
}

/// What a correction that is proven to change nothing leaves as it is; null when `op` is none.
static Value uncorrected(Operation *op, SymbolicShapes &shapes) {
  if (auto where = dyn_cast<onnx::WhereOp>(op))
    return isFalse(where.getCondition(), shapes) && shapes.shape(where.getY()) == shapes.shape(where.getOutput())
               ? where.getY()
               : Value();
  auto clip = dyn_cast<onnx::ClipOp>(op);
  if (!clip || !getElementTypeOrSelf(clip.getInput().getType()).isInteger())
    return {};
  std::optional<Selection> selection = selectionOf(clip.getInput(), shapes);
  if (!selection)
    return {};
  std::optional<double> low = clip.getMin() ? splatOf(clip.getMin(), shapes) : 0.0,
                        high = clip.getMax() ? splatOf(clip.getMax(), shapes) : static_cast<double>(selection->count);
  return low && *low <= 0 && high && *high >= static_cast<double>(selection->count - 1) ? clip.getInput() : Value();
}

Value farskip::baseOfCasts(Value value, SymbolicShapes &shapes) {
  for (;;) {
    value = baseOfViews(value, shapes);
    Operation *op = value.getDefiningOp();
    if (!op)
      return value;
    if (Value same = uncorrected(op, shapes)) {
      value = same;
      continue;
    }
    if (!isa<onnx::CastOp, onnx::CastLikeOp>(op))
      return value;
    Type from = getElementTypeOrSelf(op->getOperand(0).getType()), to = getElementTypeOrSelf(value.getType());
    bool integers = from.isInteger() && to.isInteger() && !from.isInteger(1) && !to.isInteger(1);
    if (!integers && !(isa<FloatType>(from) && isa<FloatType>(to)))
      return value;
    value = op->getOperand(0);
  }
}

static std::optional<double> splatOf(ElementsAttr attribute) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(attribute);
  if (!dense || !dense.isSplat())
    return std::nullopt;
  if (isa<FloatType>(dense.getElementType())) {
    APFloat number = dense.getSplatValue<APFloat>();
    bool ignored;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &ignored);
    return number.convertToDouble();
  }
  if (!dense.getElementType().isIntOrIndex())
    return std::nullopt;
  APInt number = dense.getSplatValue<APInt>();
  return dense.getElementType().isInteger(1) ? number.getZExtValue() : number.getSExtValue();
}

std::optional<double> farskip::splatOf(Value value, SymbolicShapes &shapes) {
  if (std::optional<SmallVector<int64_t>> known = shapes.constants(value))
    return !known->empty() && llvm::all_equal(*known) ? std::optional<double>(known->front()) : std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto constant = dyn_cast<onnx::ConstantOp>(op))
    return ::splatOf(constant.getValue().value_or(ElementsAttr()));
  if (auto filled = dyn_cast<onnx::ConstantOfShapeOp>(op))
    return filled.getValue() ? ::splatOf(*filled.getValue()) : 0.0;
  if (isa<onnx::CastOp, onnx::CastLikeOp>(op)) {
    std::optional<double> number = farskip::splatOf(op->getOperand(0), shapes);
    return number && *number == std::trunc(*number) && std::abs(*number) <= 128 ? number : std::nullopt;
  }
  if (isa<onnx::ExpandOp, onnx::TileOp>(op))
    return farskip::splatOf(op->getOperand(0), shapes);
  if (Value from = viewed(value, shapes))
    return farskip::splatOf(from, shapes);
  return std::nullopt;
}

std::optional<int64_t> farskip::integerOf(Value value, SymbolicShapes &shapes) {
  std::optional<SmallVector<int64_t>> known = shapes.constants(value);
  return known && known->size() == 1 ? std::optional<int64_t>(known->front()) : std::nullopt;
}

bool farskip::isConstant(Value value) {
  return isa_and_nonnull<onnx::ConstantOp, onnx::WeightOp>(value.getDefiningOp());
}

bool farskip::isIota(Value value, int64_t count, SymbolicShapes &shapes) {
  std::optional<SmallVector<int64_t>> known = shapes.constants(baseOfCasts(value, shapes));
  if (!known || static_cast<int64_t>(known->size()) != count)
    return false;
  for (int64_t i = 0; i < count; ++i)
    if ((*known)[i] != i)
      return false;
  return true;
}

bool farskip::isRange(Value value, const SymbolicExpr &count, SymbolicShapes &shapes) {
  Value base = baseOfCasts(value, shapes);
  if (shapes.elements(base) != count)
    return false;
  if (count.constant() && isIota(base, *count.constant(), shapes))
    return true;
  auto range = base.getDefiningOp<onnx::RangeOp>();
  return range && integerOf(range.getStart(), shapes) == 0 && integerOf(range.getDelta(), shapes) == 1;
}

bool farskip::isParameter(Value value) {
  constexpr int kMaxSteps = 8;
  for (int i = 0; i < kMaxSteps; ++i) {
    if (isConstant(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op ||
        !isa<onnx::CastOp, onnx::TransposeOp, onnx::ReshapeOp, onnx::IdentityOp, onnx::SqueezeOp, onnx::UnsqueezeOp>(
            op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// Numbers of places: never negative.
static bool isNonNegative(Value value, SymbolicShapes &shapes) {
  Value base = baseOfCasts(value, shapes);
  auto top = base.getDefiningOp<onnx::TopKOp>();
  return (top && base == top.getIndices()) || base.getDefiningOp<onnx::ArgMaxOp>() ||
         isRange(base, shapes.elements(base), shapes);
}

bool farskip::isFalse(Value value, SymbolicShapes &shapes) {
  value = baseOfViews(value, shapes);
  Operation *op = value.getDefiningOp();
  if (auto less = dyn_cast_or_null<onnx::LessOp>(op)) {
    std::optional<double> bound = splatOf(less.getB(), shapes);
    return bound && *bound <= 0 && isNonNegative(less.getA(), shapes);
  }
  if (auto equal = dyn_cast_or_null<onnx::EqualOp>(op))
    return (isFalse(equal.getA(), shapes) && splatOf(equal.getB(), shapes) == 1.0) ||
           (isFalse(equal.getB(), shapes) && splatOf(equal.getA(), shapes) == 1.0);
  if (auto both = dyn_cast_or_null<onnx::AndOp>(op))
    return isFalse(both.getA(), shapes) || isFalse(both.getB(), shapes);
  return false;
}

/// Later picks are made where the earlier ones have been taken out: their scores are minus infinity.
static bool picksDiffer(ArrayRef<Value> picks, SymbolicShapes &shapes) {
  SmallVector<Value> earlier;
  for (Value pick : picks) {
    Value base = baseOfCasts(pick, shapes);
    auto best = base.getDefiningOp<onnx::ArgMaxOp>();
    if (!best)
      return false;
    llvm::DenseSet<Value> taken;
    Value scores = best.getData();
    while (auto scatter = baseOfViews(scores, shapes).getDefiningOp<onnx::ScatterElementsOp>()) {
      std::optional<double> filling = splatOf(scatter.getUpdates(), shapes);
      int64_t rank = shapes.rank(scatter.getData());
      if (scatter.getReduction() != "none" || fromFront(scatter.getAxis(), rank) != rank - 1 || !filling ||
          *filling > -3e38)
        return false;
      taken.insert(baseOfCasts(scatter.getIndices(), shapes));
      scores = scatter.getData();
    }
    if (llvm::any_of(earlier, [&](Value value) { return !taken.contains(value); }))
      return false;
    earlier.push_back(base);
  }
  return true;
}

std::optional<Selection> farskip::selectionOf(Value experts, SymbolicShapes &shapes) {
  Value base = baseOfCasts(experts, shapes);
  Operation *op = base.getDefiningOp();
  if (auto top = dyn_cast_or_null<onnx::TopKOp>(op)) {
    ArrayRef<SymbolicExpr> from = shapes.shape(top.getX()), to = shapes.shape(base);
    int64_t last = from.size() - 1;
    if (base != top.getIndices() || fromFront(top.getAxis(), from.size()) != last || from.size() < 2 ||
        !from[last].constant() || !to[last].constant())
      return std::nullopt;
    return Selection{base, *to[last].constant(), *from[last].constant(), true};
  }
  if (auto best = dyn_cast_or_null<onnx::ArgMaxOp>(op)) {
    ArrayRef<SymbolicExpr> from = shapes.shape(best.getData());
    int64_t last = from.size() - 1;
    if (fromFront(best.getAxis(), from.size()) != last || from.size() < 2 || !from[last].constant())
      return std::nullopt;
    return Selection{base, 1, *from[last].constant(), true};
  }
  if (auto joined = dyn_cast_or_null<onnx::ConcatOp>(op)) {
    // A router that picks one expert after the other.
    int64_t rank = shapes.rank(base), slots = 0;
    std::optional<Selection> first;
    if (rank < 2 || fromFront(joined.getAxis(), rank) != rank - 1)
      return std::nullopt;
    for (Value input : joined.getInputs()) {
      std::optional<Selection> part = selectionOf(input, shapes);
      if (!part || !shapes.shape(input).back().isConstant(part->slots) || (first && first->count != part->count))
        return std::nullopt;
      slots += part->slots;
      first = part;
    }
    SmallVector<Value> picks(joined.getInputs());
    return Selection{base, slots, first->count, picksDiffer(picks, shapes)};
  }
  return std::nullopt;
}

/// Where the elements of `axis` that a `Slice` of one element keeps are.
static std::optional<Part> partOf(onnx::SliceOp op, SymbolicShapes &shapes) {
  std::optional<SmallVector<int64_t>> starts = shapes.constants(op.getStarts()), ends = shapes.constants(op.getEnds());
  ArrayRef<SymbolicExpr> from = shapes.shape(op.getData()), to = shapes.shape(op.getOutput());
  if (!starts || starts->size() != 1 || !ends)
    return std::nullopt;
  int64_t axis = 0;
  if (Value axes = op.getAxes()) {
    std::optional<int64_t> known = integerOf(axes, shapes);
    if (!known)
      return std::nullopt;
    axis = fromFront(*known, from.size());
  }
  std::optional<int64_t> extent = from[axis].constant();
  int64_t start = starts->front();
  if (start < 0 && !extent)
    return std::nullopt;
  start = start < 0 ? start + *extent : start;
  if (!to[axis].isConstant(1) || start < 0)
    return std::nullopt;
  return Part{op.getData(), axis, start};
}

std::optional<Part> farskip::partOf(Value value, SymbolicShapes &shapes) {
  for (;; value = viewed(value, shapes)) {
    Operation *op = value ? value.getDefiningOp() : nullptr;
    if (!op)
      return std::nullopt;
    if (auto split = dyn_cast<onnx::SplitOp>(op)) {
      int64_t axis = fromFront(split.getAxis(), shapes.rank(split.getInput()));
      for (Value output : split.getOutputs())
        if (!shapes.shape(output)[axis].isConstant(1))
          return std::nullopt;
      return Part{split.getInput(), axis, cast<OpResult>(value).getResultNumber()};
    }
    if (auto slice = dyn_cast<onnx::SliceOp>(op))
      return ::partOf(slice, shapes);
    if (auto gather = dyn_cast<onnx::GatherOp>(op)) {
      std::optional<int64_t> index = integerOf(gather.getIndices(), shapes);
      ArrayRef<SymbolicExpr> from = shapes.shape(gather.getData());
      if (!index)
        return std::nullopt;
      int64_t axis = fromFront(gather.getAxis(), from.size());
      if (*index < 0 && !from[axis].constant())
        return std::nullopt;
      return Part{gather.getData(), axis, *index < 0 ? *index + *from[axis].constant() : *index};
    }
  }
}
