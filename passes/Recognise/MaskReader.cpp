// Reads what an attention mask says.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/MaskReader.h"
#include <cmath>

using namespace farskip;
using namespace farskip::onnx;
using namespace mlir;

static bool isBool(Value value) { return getElementTypeOrSelf(value.getType()).isInteger(1); }

/// A number so low that adding it to any score a model has gives that number, or -∞. No finite f16 is that low: a row
/// whose every key is masked by it still depends on its scores.
std::optional<double> MaskReader::low(Value value) {
  std::optional<double> number = reader.scalar(value);
  if (!number)
    return std::nullopt;
  return *number <= -1e38 ? number : std::nullopt;
}

std::optional<SpelledMask> MaskReader::chosen(Value condition, Value lowest, bool negated) {
  std::optional<double> number = low(lowest);
  if (!number || !isBool(condition))
    return std::nullopt;
  return SpelledMask{condition, negated, std::isinf(*number) ? "nan" : "mean"};
}

SpelledMask MaskReader::added(Value value) {
  SpelledMask plain{value};
  Value mask = reader.uncast(value);
  if (auto where = mask.getDefiningOp<WhereOp>()) {
    if (reader.scalar(where.getX()) == 0)
      return chosen(where.getCondition(), where.getY(), /*negated=*/false).value_or(plain);
    if (reader.scalar(where.getY()) == 0)
      return chosen(where.getCondition(), where.getX(), /*negated=*/true).value_or(plain);
  }
  // (1 or 0) · low
  if (auto product = mask.getDefiningOp<MulOp>())
    for (unsigned i : {0u, 1u}) {
      Value number = product->getOperand(1 - i), factor = reader.uncast(product->getOperand(i));
      std::optional<double> lowest = low(number);
      if (!lowest || std::isinf(*lowest))
        continue;
      bool negated = true;
      if (auto one = factor.getDefiningOp<SubOp>(); one && reader.scalar(one.getA()) == 1) {
        negated = false;
        factor = reader.uncast(one.getB());
      }
      if (auto cast = factor.getDefiningOp<CastOp>(); cast && isBool(cast.getInput()))
        return chosen(cast.getInput(), number, negated).value_or(plain);
    }
  return plain;
}

std::optional<MaskReader::Ramp> MaskReader::countedContents(Value value) {
  const Dims *contents = reader.shapes.contents(value);
  if (!contents || contents->size() < 2)
    return std::nullopt;
  ArrayRef<SymbolicExpr> dims = reader.shapes.shape(value);
  int64_t count = contents->size(), rank = dims.size();
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!dims[axis].isConstant(count))
      continue;
    for (int64_t i = 1; i < count; ++i)
      if ((*contents)[i] != (*contents)[0] + i)
        return std::nullopt;
    return Ramp{rank - 1 - axis, (*contents)[0]};
  }
  return std::nullopt;
}

std::optional<MaskReader::Ramp> MaskReader::ramp(Value value) {
  if (std::optional<Ramp> known = countedContents(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto only = [&](Value of) -> std::optional<SymbolicExpr> {
    const Dims *contents = reader.shapes.contents(of);
    return contents && contents->size() == 1 ? std::optional((*contents)[0]) : std::nullopt;
  };
  if (auto range = dyn_cast<RangeOp>(op)) {
    std::optional<SymbolicExpr> start = only(range.getStart()), step = only(range.getDelta());
    return start && step && step->isConstant(1) ? std::optional(Ramp{0, *start}) : std::nullopt;
  }
  if (isa<IdentityOp, ExpandOp>(op))
    return ramp(op->getOperand(0));
  if (isa<CastOp>(op))
    return isa<IntegerType>(getElementTypeOrSelf(op->getOperand(0).getType())) && !isBool(value)
               ? ramp(op->getOperand(0))
               : std::nullopt;
  if (isa<UnsqueezeOp, SqueezeOp, ReshapeOp>(op)) {
    std::optional<Ramp> before = ramp(op->getOperand(0));
    if (!before)
      return std::nullopt;
    ArrayRef<SymbolicExpr> from = reader.shapes.shape(op->getOperand(0)), to = reader.shapes.shape(value);
    SymbolicExpr extent = from[from.size() - 1 - before->axis];
    std::optional<int64_t> place;
    for (auto [axis, dim] : llvm::enumerate(to)) {
      if (dim.isConstant(1))
        continue;
      if (place || dim != extent)
        return std::nullopt;
      place = to.size() - 1 - axis;
    }
    if (!place || reader.shapes.elements(op->getOperand(0)) != extent)
      return std::nullopt;
    return Ramp{*place, before->base};
  }
  if (isa<AddOp, SubOp>(op))
    for (unsigned i : {0u, 1u}) {
      if (isa<SubOp>(op) && i == 1)
        break;
      std::optional<SymbolicExpr> number = only(op->getOperand(1 - i));
      std::optional<Ramp> counted = number ? ramp(op->getOperand(i)) : std::nullopt;
      if (counted)
        return Ramp{counted->axis, isa<AddOp>(op) ? counted->base + *number : counted->base - *number};
    }
  return std::nullopt;
}

bool MaskReader::isTrue(Value value) {
  value = reader.copied(value);
  if (std::optional<SmallVector<int64_t>> known = reader.shapes.constants(value))
    return llvm::all_of(*known, [](int64_t number) { return number != 0; });
  auto isSplatTrue = [](Attribute attribute) {
    auto elements = dyn_cast_or_null<DenseElementsAttr>(attribute);
    return elements && elements.getElementType().isInteger(1) && elements.isSplat() && elements.getSplatValue<bool>();
  };
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return isSplatTrue(constant.getValueAttr());
  if (auto filled = value.getDefiningOp<ConstantOfShapeOp>())
    return isSplatTrue(filled.getValueAttr());
  if (auto expand = value.getDefiningOp<ExpandOp>())
    return isTrue(expand.getInput());
  return false;
}

void MaskReader::conditions(Value value, bool negated, SmallVectorImpl<Condition> &all) {
  value = reader.copied(value);
  Operation *op = value.getDefiningOp();
  if (auto no = dyn_cast_or_null<NotOp>(op))
    return conditions(no.getX(), !negated, all);
  if ((isa_and_nonnull<AndOp>(op) && !negated) || (isa_and_nonnull<OrOp>(op) && negated)) {
    conditions(op->getOperand(0), negated, all);
    return conditions(op->getOperand(1), negated, all);
  }
  if (negated || !isTrue(value))
    all.push_back(Condition(value, negated));
}

/// For a condition that says key ≤ row + b (upper) or key ≥ row + b by position alone: b.
std::optional<SymbolicExpr> MaskReader::bound(const Condition &condition, bool &upper) {
  Operation *op = condition.getPointer().getDefiningOp();
  if (!op || !isa<LessOp, LessOrEqualOp, GreaterOp, GreaterOrEqualOp>(op))
    return std::nullopt;
  std::optional<Ramp> a = ramp(op->getOperand(0)), b = ramp(op->getOperand(1));
  if (!a || !b || a->axis + b->axis != 1 || a->axis == b->axis)
    return std::nullopt;
  bool less = isa<LessOp, LessOrEqualOp>(op), strict = isa<LessOp, GreaterOp>(op);
  if (condition.getInt()) {
    less = !less;
    strict = !strict;
  }
  bool keyFirst = a->axis == 0;
  // key + kb (≤ <) row + qb, or (≥ >)
  SymbolicExpr between = keyFirst ? b->base - a->base : a->base - b->base;
  upper = less == keyFirst;
  if (strict)
    between = upper ? between - SymbolicExpr(1) : between + SymbolicExpr(1);
  return between;
}

/// The mask with four axes when each is 1 or that of the scores, the last that of the scores.
Value MaskReader::fitted(Value mask, GraphBuilder &build) {
  ArrayRef<SymbolicExpr> dims = reader.shapes.shape(mask);
  if (dims.empty() || dims.size() > 4)
    return {};
  int64_t missing = 4 - dims.size();
  for (auto [axis, dim] : llvm::enumerate(dims))
    if (dim != scores[axis + missing] && (axis + missing == 3 || !dim.isConstant(1)))
      return {};
  if (missing == 0)
    return mask;
  return build.create("Unsqueeze", {mask, build.integers(llvm::to_vector(llvm::seq<int64_t>(0, missing)))})
      ->getResult(0);
}

std::optional<Visibility> MaskReader::visibility(const SpelledMask &spelled, GraphBuilder &build) {
  Visibility result;
  if (!isBool(spelled.value)) {
    result.mask = fitted(spelled.value, build);
    return result.mask ? std::optional(result) : std::nullopt;
  }
  SmallVector<Condition> all;
  conditions(spelled.value, spelled.negated, all);
  SymbolicExpr end = scores[3] - scores[2];
  auto read = [&](const SymbolicExpr &first, Visibility &to) {
    SmallVector<Condition> rest;
    for (const Condition &condition : all) {
      bool upper;
      std::optional<SymbolicExpr> at = bound(condition, upper);
      std::optional<int64_t> reach = at ? (upper ? *at - first : first - *at).constant() : std::nullopt;
      if (reach && upper && *reach == 0)
        to.causal = true;
      else if (reach && !upper && *reach >= 0)
        to.left = to.left ? std::min(*to.left, *reach) : *reach;
      else
        rest.push_back(condition);
    }
    return rest;
  };
  SmallVector<Condition> rest = read(SymbolicExpr(0), result);
  if (!end.isConstant(0)) {
    Visibility atEnd;
    SmallVector<Condition> other = read(end, atEnd);
    if (other.size() < rest.size()) {
      rest = other;
      result = atEnd;
      result.atEnd = true;
    }
  }
  if (rest.empty())
    return result;
  Value mask;
  for (const Condition &condition : rest) {
    Value part = condition.getPointer();
    if (condition.getInt())
      part = build.unary("Not", part);
    mask = mask ? build.binary("And", mask, part) : part;
  }
  result.mask = fitted(mask, build);
  if (result.mask)
    return result;
  // What is left need not reach over all keys; the whole may.
  Visibility whole;
  Value value = reader.copied(spelled.value);
  whole.mask = fitted(spelled.negated ? build.unary("Not", value) : value, build);
  return whole.mask ? std::optional(whole) : std::nullopt;
}
