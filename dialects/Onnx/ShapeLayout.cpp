// Shapes of operators that move or reshape data.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace farskip::onnx {

/// The extents that a 1-D operand will hold: tracked contents, or fresh symbols of `result` where it is only known how
/// many there are.
static FailureOr<Dims> extentsOf(Operation *op, SymbolicShapes &shapes, Value operand, Value result) {
  if (const Dims *known = shapes.contents(operand))
    return *known;
  ArrayRef<SymbolicExpr> shape = shapes.shape(operand);
  if (shape.size() != 1 || !shape[0].constant())
    return op->emitOpError() << "the rank of the result is not known before the run";
  Dims fresh;
  for (int64_t axis = 0; axis < *shape[0].constant(); ++axis)
    fresh.push_back(shapes.fresh(result, axis));
  return fresh;
}

static FailureOr<SmallVector<int64_t>> constantAxes(Operation *op, SymbolicShapes &shapes, Value operand,
                                                    int64_t rank) {
  std::optional<SmallVector<int64_t>> axes = shapes.constants(operand);
  if (!axes)
    return op->emitOpError() << "the axes are not known before the run";
  for (int64_t &axis : *axes) {
    FailureOr<int64_t> normal = normalizeAxis(op, axis, rank);
    if (failed(normal))
      return failure();
    axis = *normal;
  }
  SmallVector<int64_t> sorted = *axes;
  llvm::sort(sorted);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return op->emitOpError() << "an axis is given twice";
  return *axes;
}

static void keepContents(SymbolicShapes &shapes, Value from, Value to) {
  if (const Dims *known = shapes.contents(from))
    shapes.setContents(to, *known);
}

LogicalResult ReshapeOp::inferShapes(SymbolicShapes &shapes) {
  Dims input(shapes.shape(getData()));
  bool tracked = shapes.contents(getShape());
  FailureOr<Dims> target = extentsOf(*this, shapes, getShape(), getReshaped());
  if (failed(target))
    return failure();
  Dims dims = *target;
  std::optional<size_t> open;
  SymbolicExpr rest(1);
  bool empty = false;
  for (auto [axis, dim] : llvm::enumerate(dims)) {
    if (dim.isConstant(-1)) {
      if (open)
        return emitOpError() << "the shape has -1 twice";
      open = axis;
      continue;
    }
    if (dim.isNegative())
      return emitOpError() << "the shape has the negative extent " << shapes.str(dim);
    if (dim.isConstant(0) && !getAllowzero()) {
      if (axis >= input.size())
        return emitOpError() << "the shape copies axis " << axis << " of an input of rank " << input.size();
      dim = input[axis];
    }
    empty |= dim.isConstant(0);
    rest = rest * dim;
  }
  SymbolicExpr all = shapes.elements(getData());
  if (open) {
    if (empty)
      return emitOpError() << "the shape has both 0 and -1";
    dims[*open] = shapes.floorDiv(all, rest);
    if (all.constant() && rest.constant() && *rest.constant() && *all.constant() % *rest.constant())
      return emitOpError() << "cannot reshape " << shapes.str(input) << " to " << shapes.str(*target);
  } else if (tracked && all.isNever(rest)) {
    return emitOpError() << "cannot reshape " << shapes.str(input) << " (" << shapes.str(all) << " elements) to "
                         << shapes.str(dims);
  }
  shapes.set(getReshaped(), elementType(getData()), std::move(dims));
  keepContents(shapes, getData(), getReshaped());
  return success();
}

LogicalResult TransposeOp::inferShapes(SymbolicShapes &shapes) {
  Dims input(shapes.shape(getData())), dims;
  SmallVector<bool> seen(input.size(), false);
  auto perm = getPerm();
  if (perm && perm->size() != input.size())
    return emitOpError() << "perm has " << perm->size() << " entries, the input has rank " << input.size();
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t axis = perm ? (*perm)[i] : input.size() - 1 - i;
    if (axis < 0 || axis >= static_cast<int64_t>(input.size()) || seen[axis])
      return emitOpError() << "perm is no permutation: entry " << axis;
    seen[axis] = true;
    dims.push_back(input[axis]);
  }
  shapes.set(getTransposed(), elementType(getData()), std::move(dims));
  return success();
}

LogicalResult ConcatOp::inferShapes(SymbolicShapes &shapes) {
  if (getInputs().empty())
    return emitOpError() << "has no inputs";
  Dims dims(shapes.shape(getInputs()[0]));
  FailureOr<int64_t> axis = normalizeAxis(*this, getAxis(), dims.size());
  if (failed(axis))
    return failure();
  Dims contents;
  bool known = dims.size() == 1;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    ArrayRef<SymbolicExpr> other = shapes.shape(input);
    if (elementType(input) != elementType(getInputs()[0]))
      return emitOpError() << "inputs have different element types";
    if (other.size() != dims.size())
      return emitOpError() << "inputs have ranks " << dims.size() << " and " << other.size();
    for (size_t k = 0; k < dims.size(); ++k) {
      if (static_cast<int64_t>(k) == *axis)
        continue;
      if (dims[k].isNever(other[k]))
        return emitOpError() << "extents " << shapes.str(dims[k]) << " and " << shapes.str(other[k]) << " along axis "
                             << k << " differ";
      if (!dims[k].constant() && other[k].constant())
        dims[k] = other[k];
    }
    if (i)
      dims[*axis] = dims[*axis] + other[*axis];
    const Dims *part = shapes.contents(input);
    known &= part != nullptr;
    if (known)
      contents.append(part->begin(), part->end());
  }
  shapes.set(getConcatResult(), elementType(getInputs()[0]), std::move(dims));
  if (known)
    shapes.setContents(getConcatResult(), std::move(contents));
  return success();
}

LogicalResult SliceOp::inferShapes(SymbolicShapes &shapes) {
  Dims dims(shapes.shape(getData())), input = dims;
  int64_t rank = dims.size();
  ArrayRef<SymbolicExpr> length = shapes.shape(getStarts());
  for (Value list : getOperands().drop_front())
    if (failed(checkRank(*this, shapes, list, "starts, ends, axes or steps", 1, 1)))
      return failure();
  if (!length[0].constant() || (getAxes() && !shapes.constants(getAxes()))) {
    // Any axis may be cut.
    setUnknown(shapes, getOutput(), elementType(getData()), rank);
    return success();
  }
  int64_t count = *length[0].constant();
  SmallVector<int64_t> axes;
  if (getAxes()) {
    FailureOr<SmallVector<int64_t>> given = constantAxes(*this, shapes, getAxes(), rank);
    if (failed(given))
      return failure();
    axes = *given;
  } else {
    for (int64_t i = 0; i < count; ++i)
      axes.push_back(i);
  }
  const Dims *starts = shapes.contents(getStarts()), *ends = shapes.contents(getEnds()), *steps = nullptr;
  if (getSteps())
    steps = shapes.contents(getSteps());
  if (static_cast<int64_t>(axes.size()) != count || count > rank || (starts && int64_t(starts->size()) != count) ||
      (ends && int64_t(ends->size()) != count) || (steps && int64_t(steps->size()) != count))
    return emitOpError() << "starts, ends, axes and steps have different lengths";
  SmallVector<std::pair<SymbolicExpr, int64_t>> exact(rank, {SymbolicExpr(0), 1});
  bool allExact = true;
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = axes[i];
    std::optional<int64_t> step = 1;
    if (getSteps())
      step = steps ? (*steps)[i].constant() : std::nullopt;
    if (step && *step == 0)
      return emitOpError() << "step 0 along axis " << axis;
    // Clamping of symbolic bounds is only done where it is sure what it gives.
    auto clamp = [&](const SymbolicExpr &bound, bool isEnd) -> std::optional<SymbolicExpr> {
      const SymbolicExpr &extent = input[axis];
      if (bound.constant() && extent.constant()) {
        int64_t b = *bound.constant(), n = *extent.constant();
        if (b < 0)
          b = b < -n ? -n - 1 : b;
        b = b < 0 ? b + n : b;
        if (*step > 0)
          return SymbolicExpr(std::clamp<int64_t>(b, 0, n));
        return SymbolicExpr(std::clamp<int64_t>(b, isEnd ? -1 : std::min<int64_t>(0, n - 1), n - 1));
      }
      if (*step < 0)
        return std::nullopt;
      if (bound.isConstant(0))
        return bound;
      if (bound.constant() && *bound.constant() >= INT32_MAX)
        return extent; // a sentinel: "to the end"
      if (bound.isNonNegative() && (extent - bound).isNonNegative())
        return bound;
      if ((bound - extent).isNonNegative() && bound.isNonNegative())
        return extent;
      SymbolicExpr fromEnd = extent + bound;
      if (bound.isNegative() && fromEnd.isNonNegative())
        return fromEnd;
      if (bound.isNonNegative())
        return shapes.min(bound, extent);
      if (bound.isNegative())
        return shapes.max(fromEnd, SymbolicExpr(0));
      return std::nullopt;
    };
    std::optional<SymbolicExpr> from, to;
    if (step && starts)
      from = clamp((*starts)[i], false);
    if (step && ends)
      to = clamp((*ends)[i], true);
    if (!from || !to) {
      dims[axis] = shapes.fresh(getOutput(), axis);
      allExact = false;
      continue;
    }
    SymbolicExpr span = *step > 0 ? *to - *from : *from - *to;
    int64_t stride = std::abs(*step);
    if (stride != 1)
      span = shapes.ceilDiv(span, SymbolicExpr(stride));
    if (span.constant())
      span = std::max<int64_t>(0, *span.constant());
    else if (!span.isNonNegative())
      span = shapes.max(span, SymbolicExpr(0));
    dims[axis] = span;
    exact[axis] = {*from, *step};
  }
  shapes.set(getOutput(), elementType(getData()), dims);
  const Dims *known = shapes.contents(getData());
  if (known && rank == 1 && allExact && exact[0].first.constant() && dims[0].constant()) {
    Dims contents;
    for (int64_t i = 0; i < *dims[0].constant(); ++i)
      contents.push_back((*known)[*exact[0].first.constant() + i * exact[0].second]);
    shapes.setContents(getOutput(), std::move(contents));
  }
  return success();
}

LogicalResult SplitOp::inferShapes(SymbolicShapes &shapes) {
  Dims dims(shapes.shape(getInput()));
  FailureOr<int64_t> axis = normalizeAxis(*this, getAxis(), dims.size());
  if (failed(axis))
    return failure();
  int64_t count = getOutputs().size();
  SmallVector<SymbolicExpr> sizes;
  SymbolicExpr extent = dims[*axis];
  if (getSplit()) {
    const Dims *known = shapes.contents(getSplit());
    if (!known) {
      for (int64_t i = 0; i < count; ++i)
        sizes.push_back(shapes.fresh(getOutputs()[i], *axis));
    } else {
      sizes.assign(known->begin(), known->end());
      SymbolicExpr sum(0);
      for (const SymbolicExpr &size : sizes) {
        if (size.isNegative())
          return emitOpError() << "the split size " << shapes.str(size) << " is negative";
        sum = sum + size;
      }
      if (sum.isNever(extent))
        return emitOpError() << "the split sizes sum to " << shapes.str(sum) << ", the axis has " << shapes.str(extent);
    }
  } else {
    if (getNumOutputs() && static_cast<int64_t>(*getNumOutputs()) != count)
      return emitOpError() << "num_outputs is " << *getNumOutputs() << ", there are " << count << " outputs";
    SymbolicExpr each = shapes.ceilDiv(extent, SymbolicExpr(count));
    for (int64_t i = 0; i + 1 < count; ++i)
      sizes.push_back(each);
    SymbolicExpr last = extent - each * SymbolicExpr(count - 1);
    if (last.isNegative())
      return emitOpError() << "an axis of " << shapes.str(extent) << " cannot be split into " << count << " parts";
    sizes.push_back(last);
  }
  if (static_cast<int64_t>(sizes.size()) != count)
    return emitOpError() << "there are " << sizes.size() << " split sizes and " << count << " outputs";
  const Dims *known = dims.size() == 1 ? shapes.contents(getInput()) : nullptr;
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    Dims part = dims;
    part[*axis] = sizes[i];
    shapes.set(getOutputs()[i], elementType(getInput()), part);
    if (known && sizes[i].constant()) {
      int64_t size = *sizes[i].constant();
      if (at + size <= static_cast<int64_t>(known->size()))
        shapes.setContents(getOutputs()[i], Dims(ArrayRef(*known).slice(at, size)));
      at += size;
    } else {
      known = nullptr;
    }
  }
  return success();
}

LogicalResult SqueezeOp::inferShapes(SymbolicShapes &shapes) {
  Dims input(shapes.shape(getData())), dims;
  SmallVector<bool> gone(input.size(), false);
  bool known = getAxes() ? shapes.constants(getAxes()).has_value()
                         : llvm::all_of(input, [](const SymbolicExpr &dim) { return dim.constant().has_value(); });
  if (!known) {
    FailureOr<int64_t> rank =
        getAxes() ? rankByAxes(*this, shapes, getAxes(), input.size(), false) : declaredRank(*this, getSqueezed());
    if (failed(rank))
      return failure();
    setUnknown(shapes, getSqueezed(), elementType(getData()), *rank);
    keepContents(shapes, getData(), getSqueezed());
    return success();
  }
  if (getAxes()) {
    FailureOr<SmallVector<int64_t>> axes = constantAxes(*this, shapes, getAxes(), input.size());
    if (failed(axes))
      return failure();
    for (int64_t axis : *axes) {
      if (input[axis].isNever(SymbolicExpr(1)))
        return emitOpError() << "axis " << axis << " has extent " << shapes.str(input[axis]) << ", wanted 1";
      gone[axis] = true;
    }
  } else {
    for (size_t i = 0; i < input.size(); ++i) {
      gone[i] = input[i].isConstant(1);
    }
  }
  for (size_t i = 0; i < input.size(); ++i)
    if (!gone[i])
      dims.push_back(input[i]);
  shapes.set(getSqueezed(), elementType(getData()), std::move(dims));
  keepContents(shapes, getData(), getSqueezed());
  return success();
}

LogicalResult UnsqueezeOp::inferShapes(SymbolicShapes &shapes) {
  Dims input(shapes.shape(getData()));
  std::optional<SmallVector<int64_t>> given = shapes.constants(getAxes());
  if (!given) {
    FailureOr<int64_t> unknown = rankByAxes(*this, shapes, getAxes(), input.size(), true);
    if (failed(unknown))
      return failure();
    setUnknown(shapes, getExpanded(), elementType(getData()), *unknown);
    keepContents(shapes, getData(), getExpanded());
    return success();
  }
  int64_t rank = input.size() + given->size();
  FailureOr<SmallVector<int64_t>> axes = constantAxes(*this, shapes, getAxes(), rank);
  if (failed(axes))
    return failure();
  Dims dims;
  size_t next = 0;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(llvm::is_contained(*axes, i) ? SymbolicExpr(1) : input[next++]);
  shapes.set(getExpanded(), elementType(getData()), std::move(dims));
  keepContents(shapes, getData(), getExpanded());
  return success();
}

LogicalResult FlattenOp::inferShapes(SymbolicShapes &shapes) {
  Dims input(shapes.shape(getInput()));
  int64_t rank = input.size(), axis = getAxis() < 0 ? getAxis() + rank : getAxis();
  if (axis < 0 || axis > rank)
    return emitOpError() << "axis " << getAxis() << " is outside [" << -rank << ", " << rank << "]";
  SymbolicExpr outer(1), inner(1);
  for (int64_t i = 0; i < rank; ++i)
    (i < axis ? outer : inner) = (i < axis ? outer : inner) * input[i];
  shapes.set(getOutput(), elementType(getInput()), {outer, inner});
  return success();
}

LogicalResult ExpandOp::inferShapes(SymbolicShapes &shapes) {
  FailureOr<Dims> target = extentsOf(*this, shapes, getShape(), getOutput());
  if (failed(target))
    return failure();
  for (const SymbolicExpr &dim : *target)
    if (dim.isNegative())
      return emitOpError() << "the shape has the negative extent " << shapes.str(dim);
  bool tracked = shapes.contents(getShape());
  Dims input(shapes.shape(getInput()));
  std::optional<Dims> dims = tracked ? shapes.broadcast(input, *target) : std::nullopt;
  if (tracked && !dims)
    return emitOpError() << "cannot expand " << shapes.str(input) << " to " << shapes.str(*target);
  if (!tracked) {
    // Only the rank is known: each extent is that of the result.
    dims = Dims();
    for (size_t axis = 0; axis < std::max(input.size(), target->size()); ++axis)
      dims->push_back(shapes.fresh(getOutput(), axis));
  }
  shapes.set(getOutput(), elementType(getInput()), std::move(*dims));
  if (shapes.elements(getOutput()) == shapes.elements(getInput()))
    keepContents(shapes, getInput(), getOutput());
  return success();
}

LogicalResult TileOp::inferShapes(SymbolicShapes &shapes) {
  Dims input(shapes.shape(getInput())), dims;
  const Dims *repeats = shapes.contents(getRepeats());
  if (repeats && repeats->size() != input.size())
    return emitOpError() << "there are " << repeats->size() << " repeats for rank " << input.size();
  for (size_t i = 0; i < input.size(); ++i) {
    if (repeats && (*repeats)[i].isNegative())
      return emitOpError() << "a negative number of repeats";
    dims.push_back(repeats ? input[i] * (*repeats)[i] : shapes.fresh(getOutput(), i));
  }
  shapes.set(getOutput(), elementType(getInput()), std::move(dims));
  return success();
}

LogicalResult ShapeOp::inferShapes(SymbolicShapes &shapes) {
  ArrayRef<SymbolicExpr> input = shapes.shape(getData());
  int64_t rank = input.size();
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t from = clamp(getStart()), to = clamp(getEnd() ? *getEnd() : rank);
  Dims contents(from < to ? input.slice(from, to - from) : ArrayRef<SymbolicExpr>());
  shapes.set(getShape(), IntegerType::get(getContext(), 64), {SymbolicExpr(static_cast<int64_t>(contents.size()))});
  shapes.setContents(getShape(), std::move(contents));
  return success();
}

LogicalResult SizeOp::inferShapes(SymbolicShapes &shapes) {
  SymbolicExpr elements = shapes.elements(getData());
  shapes.set(getSize(), IntegerType::get(getContext(), 64), {});
  shapes.setContents(getSize(), {elements});
  return success();
}

LogicalResult ConstantOfShapeOp::inferShapes(SymbolicShapes &shapes) {
  FailureOr<Dims> dims = extentsOf(*this, shapes, getInput(), getOutput());
  if (failed(dims))
    return failure();
  for (const SymbolicExpr &dim : *dims)
    if (dim.isNegative())
      return emitOpError() << "the shape has the negative extent " << shapes.str(dim);
  auto value = dyn_cast_or_null<DenseElementsAttr>(getValueAttr());
  if (getValueAttr() && (!value || value.getNumElements() != 1))
    return emitOpError() << "value must hold one element";
  Type element = value ? value.getElementType() : Float32Type::get(getContext());
  shapes.set(getOutput(), element, *dims);
  std::optional<int64_t> count = shapes.elements(getOutput()).constant();
  if (isa<IntegerType>(element) && count && *count <= kMaxTrackedElements) {
    APInt number = value.getSplatValue<APInt>();
    bool natural = element.isUnsignedInteger() || element.isInteger(1);
    if (number.getSignificantBits() <= 63)
      shapes.setContents(getOutput(), Dims(*count, SymbolicExpr(natural ? static_cast<int64_t>(number.getZExtValue())
                                                                        : number.getSExtValue())));
  }
  return success();
}

LogicalResult RangeOp::inferShapes(SymbolicShapes &shapes) {
  for (Value operand : getOperands())
    if (!shapes.elements(operand).isConstant(1))
      return emitOpError() << "a bound of shape " << shapes.str(shapes.shape(operand)) << ", wanted a scalar";
  const Dims *start = shapes.contents(getStart()), *limit = shapes.contents(getLimit()),
             *delta = shapes.contents(getDelta());
  if (delta && (*delta)[0].isConstant(0))
    return emitOpError() << "delta is 0";
  SymbolicExpr count;
  bool known = start && limit && delta && (*delta)[0].constant();
  if (known) {
    int64_t step = *(*delta)[0].constant();
    SymbolicExpr span = step > 0 ? (*limit)[0] - (*start)[0] : (*start)[0] - (*limit)[0];
    count = step == 1 || step == -1 ? span : shapes.ceilDiv(span, SymbolicExpr(std::abs(step)));
    if (count.constant())
      count = std::max<int64_t>(0, *count.constant());
    else if (!count.isNonNegative())
      count = shapes.max(count, SymbolicExpr(0));
  } else {
    count = shapes.fresh(getOutput(), 0);
  }
  shapes.set(getOutput(), elementType(getStart()), {count});
  if (known && count.constant() && *count.constant() <= kMaxTrackedElements) {
    Dims contents;
    for (int64_t i = 0; i < *count.constant(); ++i)
      contents.push_back((*start)[0] + SymbolicExpr(i) * (*delta)[0]);
    shapes.setContents(getOutput(), std::move(contents));
  }
  return success();
}

LogicalResult TriluOp::inferShapes(SymbolicShapes &shapes) {
  if (shapes.rank(getInput()) < 2)
    return emitOpError() << "an input of rank " << shapes.rank(getInput()) << ", wanted 2 or more";
  if (getK() && !shapes.elements(getK()).isConstant(1))
    return emitOpError() << "k has shape " << shapes.str(shapes.shape(getK())) << ", wanted a scalar";
  return inferLike(*this, shapes, getInput());
}

} // namespace farskip::onnx
