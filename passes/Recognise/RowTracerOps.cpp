// Which operations work on each row for itself, and what they become in the region.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/Passes.h"
#include "passes/Recognise/RowTracer.h"
#include "passes/Recognise/Structure.h"

using namespace farskip;
using namespace mlir;

static bool isElementwise(Operation *op) {
  return isa<onnx::AddOp, onnx::SubOp, onnx::MulOp, onnx::DivOp, onnx::PowOp, onnx::MaxOp, onnx::MinOp, onnx::AbsOp,
             onnx::CeilOp, onnx::CosOp, onnx::ErfOp, onnx::ExpOp, onnx::FloorOp, onnx::LogOp, onnx::NegOp,
             onnx::ReciprocalOp, onnx::ReluOp, onnx::RoundOp, onnx::SigmoidOp, onnx::SignOp, onnx::SinOp,
             onnx::SoftplusOp, onnx::SqrtOp, onnx::TanhOp, onnx::GeluOp, onnx::SwishOp, onnx::MsQuickGeluOp,
             onnx::ClipOp, onnx::CastOp, onnx::CastLikeOp, onnx::WhereOp, onnx::EqualOp, onnx::GreaterOp, onnx::LessOp,
             onnx::GreaterOrEqualOp, onnx::LessOrEqualOp, onnx::AndOp, onnx::OrOp, onnx::NotOp, onnx::HardSwishOp,
             onnx::HardSigmoidOp, onnx::LeakyReluOp, onnx::EluOp, onnx::SeluOp, onnx::CeluOp, onnx::MishOp,
             onnx::SoftsignOp, onnx::ThresholdedReluOp>(op);
}

std::optional<RowValue> RowTracer::traceOperation(ArrayRef<Operation *> ops, unsigned result) {
  Operation *op = ops.front();
  if (viewed(op->getResult(result), context.shapes))
    return view(ops);
  if (isElementwise(op))
    return elementwise(ops);
  if (isa<onnx::MatMulOp>(op))
    return matmul(ops);
  if (isa<onnx::GemmOp>(op))
    return gemm(ops);
  if (isa<onnx::MsMatMulNBitsOp>(op))
    return packedMatmul(ops);
  if (isa<onnx::TransposeOp>(op))
    return transpose(ops);
  if (isa<onnx::SliceOp>(op))
    return slice(ops);
  if (isa<onnx::SplitOp>(op))
    return split(ops, result);
  if (isa<onnx::ConcatOp>(op))
    return concat(ops);
  if (isa<onnx::GatherOp>(op))
    return gather(ops);
  return fail(op, "is not known to work on each row for itself");
}

Value RowTracer::emit(Operation *like, ValueRange operands) {
  OperationState state(graph.location, like->getName());
  state.addOperands(operands);
  NamedAttrList attributes(like->getAttrDictionary());
  attributes.erase("onnx.node");
  attributes.erase("onnx.outputs");
  attributes.erase(kMissedAttr);
  state.addAttributes(attributes);
  for (Value result : like->getResults())
    state.addTypes(RankedTensorType::get({}, getElementTypeOrSelf(result.getType())));
  Operation *op = inner.create(state);
  (void)cast<SymbolicShapeOpInterface>(op).inferShapes(context.shapes);
  return op->getResult(0);
}

static SmallVector<int64_t> features(ArrayRef<SymbolicExpr> dims, ArrayRef<Axis> axes) {
  SmallVector<int64_t> shape;
  for (auto [dim, axis] : llvm::zip(dims, axes))
    if (axis == Axis::Feature)
      shape.push_back(dim.constant().value_or(ShapedType::kDynamic));
  return shape;
}

Value RowTracer::withFeatures(Value value, bool rows, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> wanted;
  if (rows)
    wanted.push_back(ShapedType::kDynamic);
  llvm::append_range(wanted, shape);
  if (cast<RankedTensorType>(value.getType()).getShape() == ArrayRef<int64_t>(wanted))
    return value;
  if (rows)
    wanted[0] = -1;
  return graph.reshape(value, wanted);
}

std::optional<Axes> RowTracer::reshapedAxes(ArrayRef<SymbolicExpr> from, ArrayRef<Axis> axes,
                                            ArrayRef<SymbolicExpr> to) {
  Axes result;
  size_t i = 0, j = 0;
  for (;;) {
    while (i < from.size() && axes[i] == Axis::Unit)
      ++i;
    bool unitRows = i < from.size() && from[i].isConstant(1);
    while (j < to.size() && to[j].isConstant(1) && !unitRows) {
      result.push_back(Axis::Unit);
      ++j;
    }
    if (i == from.size() || j == to.size())
      break;
    // The shortest runs of axes with the same number of elements.
    size_t begin = i, start = j;
    SymbolicExpr left = from[i++], right = to[j++];
    while (!(left == right)) {
      std::optional<SymbolicExpr> growLeft = right.dividedBy(left), growRight = left.dividedBy(right);
      if (growLeft && !growLeft->isConstant(1) && i < from.size())
        left = left * from[i++];
      else if (growRight && !growRight->isConstant(1) && j < to.size())
        right = right * to[j++];
      else if (left.constant() && right.constant() && *left.constant() < *right.constant() && i < from.size())
        left = left * from[i++];
      else if (left.constant() && right.constant() && *left.constant() > *right.constant() && j < to.size())
        right = right * to[j++];
      else
        return std::nullopt;
    }
    Axes run;
    for (size_t k = begin; k < i; ++k)
      if (axes[k] != Axis::Unit)
        run.push_back(axes[k]);
    SmallVector<size_t> places;
    for (size_t k = start; k < j; ++k)
      if (!to[k].isConstant(1) || j - start == 1)
        places.push_back(k);
    Axes named;
    auto is = [&](std::initializer_list<Axis> wanted) { return ArrayRef<Axis>(run) == ArrayRef<Axis>(wanted); };
    if (llvm::all_equal(run) && run.front() == Axis::Feature)
      named.assign(places.size(), Axis::Feature);
    else if (places.size() == 1 && run.size() == 1)
      named = run;
    else if (places.size() == 1 && is({Axis::Token, Axis::Slot}))
      named = {Axis::Pair};
    else if (places.size() == 1 && is({Axis::Expert, Axis::Token}))
      named = {Axis::ExpertToken};
    else if (places.size() == 1 && is({Axis::Batch, Axis::Sequence}))
      named = {Axis::Token};
    else if (places.size() == 1 && is({Axis::Batch, Axis::Sequence, Axis::Slot}))
      named = {Axis::Pair};
    else if (places.size() == 2 && is({Axis::Pair}) && to[places[0]] == tokens && to[places[1]].isConstant(slots))
      named = {Axis::Token, Axis::Slot};
    else if (places.size() == 2 && is({Axis::ExpertToken}) && to[places[0]].isConstant(experts))
      named = {Axis::Expert, Axis::Token};
    else if (places.size() == 2 && is({Axis::Token}))
      named = {Axis::Batch, Axis::Sequence};
    else if (places.size() == 3 && is({Axis::Pair}) && to[places[2]].isConstant(slots))
      named = {Axis::Batch, Axis::Sequence, Axis::Slot};
    else if (places.size() == 2 && is({Axis::Batch, Axis::Sequence, Axis::Slot}) && to[places[0]] == tokens)
      named = {Axis::Token, Axis::Slot};
    else if (places.size() == 3 && is({Axis::Token, Axis::Slot}) && to[places[2]].isConstant(slots))
      named = {Axis::Batch, Axis::Sequence, Axis::Slot};
    else
      return std::nullopt;
    Axes run2(j - start, Axis::Unit);
    for (auto [place, axis] : llvm::zip(places, named))
      run2[place - start] = axis;
    llvm::append_range(result, run2);
  }
  for (; j < to.size(); ++j) {
    if (!to[j].isConstant(1))
      return std::nullopt;
    result.push_back(Axis::Unit);
  }
  for (; i < from.size(); ++i)
    if (axes[i] != Axis::Unit && !from[i].isConstant(1))
      return std::nullopt;
  return result;
}

std::optional<RowValue> RowTracer::view(ArrayRef<Operation *> ops) {
  std::optional<RowValue> in = traceOperand(ops, 0);
  if (!in)
    return std::nullopt;
  std::optional<Axes> axes;
  SmallVector<int64_t> shape;
  for (Operation *op : ops) {
    Dims from(context.shapes.shape(op->getOperand(0))), to(context.shapes.shape(op->getResult(0)));
    std::optional<Axes> these;
    // What stretches nothing may have a dimension that only the run proves equal.
    if (from.size() == to.size() && isa<onnx::ExpandOp, onnx::CastOp, onnx::CastLikeOp>(op))
      these = in->axes;
    else
      these = reshapedAxes(from, in->axes, to);
    if (!these || (axes && *axes != *these))
      return fail(op, "mixes rows and features");
    SmallVector<int64_t> parts = features(to, *these);
    if (axes && shape != parts)
      return fail(op, "is unlike the same step of another expert");
    axes = these;
    shape = parts;
  }
  return RowValue{withFeatures(in->value, in->rows, shape), *axes, in->rows};
}

std::optional<RowValue> RowTracer::transpose(ArrayRef<Operation *> ops) {
  std::optional<RowValue> in = traceOperand(ops, 0);
  if (!in)
    return std::nullopt;
  auto op = cast<onnx::TransposeOp>(ops.front());
  int64_t rank = in->axes.size();
  Axes axes;
  SmallVector<int64_t> place(rank), inside;
  int64_t count = in->rows;
  for (int64_t i = 0; i < rank; ++i)
    place[i] = in->axes[i] == Axis::Feature ? count++ : -1;
  if (in->rows)
    inside.push_back(0);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t from = op.getPerm() ? (*op.getPerm())[i] : rank - 1 - i;
    axes.push_back(in->axes[from]);
    if (place[from] >= 0)
      inside.push_back(place[from]);
  }
  Value value = llvm::is_sorted(inside) ? in->value : graph.transpose(in->value, inside);
  return RowValue{value, axes, in->rows};
}

Value RowTracer::aligned(const RowValue &operand, ArrayRef<Axis> result) {
  int64_t lead = result.size() - operand.axes.size(), place = operand.rows, missing = 0;
  SmallVector<int64_t> absent;
  bool seen = false, gap = false;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] != Axis::Feature)
      continue;
    bool present = static_cast<int64_t>(i) >= lead && operand.axes[i - lead] == Axis::Feature;
    if (!present) {
      absent.push_back(place);
      gap |= seen;
      ++missing;
    }
    seen |= present;
    ++place;
  }
  bool scalar = !operand.rows && !seen;
  if (!missing || scalar || (!operand.rows && !gap))
    return operand.value;
  return graph.binary("Unsqueeze", operand.value, graph.integers(absent));
}

std::optional<RowValue> RowTracer::elementwise(ArrayRef<Operation *> ops) {
  Operation *op = ops.front();
  SmallVector<RowValue> operands;
  size_t used = isa<onnx::CastLikeOp>(op) ? 1 : op->getNumOperands();
  for (size_t i = 0; i < used; ++i) {
    std::optional<RowValue> operand = traceOperand(ops, i);
    if (!operand)
      return std::nullopt;
    operands.push_back(*operand);
  }
  Axes result(context.shapes.rank(op->getResult(0)), Axis::Unit);
  bool rows = false;
  for (const RowValue &operand : operands) {
    rows |= operand.rows;
    size_t lead = result.size() - operand.axes.size();
    for (auto [i, axis] : llvm::enumerate(operand.axes)) {
      Axis &into = result[lead + i];
      if (axis == Axis::Unit || axis == into)
        continue;
      if (into != Axis::Unit)
        return fail(op, "combines different rows");
      into = axis;
    }
  }
  SmallVector<Value> values;
  for (const RowValue &operand : operands)
    values.push_back(aligned(operand, result));
  if (isa<onnx::CastOp, onnx::CastLikeOp>(op)) {
    Type from = getElementTypeOrSelf(values.front().getType()), to = getElementTypeOrSelf(op->getResult(0).getType());
    if (isa<FloatType>(from) && isa<FloatType>(to))
      return RowValue{graph.cast(values.front(), to), result, rows};
    if (isa<onnx::CastLikeOp>(op))
      return fail(op, "casts to a type that is no float");
  }
  return RowValue{emit(op, values), result, rows};
}

std::optional<RowValue> RowTracer::slice(ArrayRef<Operation *> ops) {
  std::optional<RowValue> in = traceOperand(ops, 0);
  if (!in)
    return std::nullopt;
  auto constants = [&](Value value) {
    return value ? context.shapes.constants(value) : std::optional<SmallVector<int64_t>>();
  };
  std::optional<SmallVector<std::array<int64_t, 4>>> steps;
  for (Operation *each : ops) {
    auto op = cast<onnx::SliceOp>(each);
    auto starts = constants(op.getStarts()), ends = constants(op.getEnds()), axes = constants(op.getAxes()),
         strides = constants(op.getSteps());
    ArrayRef<SymbolicExpr> from = context.shapes.shape(op.getData()), to = context.shapes.shape(op.getOutput());
    SmallVector<std::array<int64_t, 4>> these;
    size_t count = context.shapes.shape(op.getStarts())[0].constant().value_or(0);
    for (size_t i = 0; i < count; ++i) {
      int64_t axis = axes ? fromFront((*axes)[i], from.size()) : i, step = strides ? (*strides)[i] : 1;
      if (from[axis] == to[axis] && step == 1)
        continue;
      if (in->axes[axis] != Axis::Feature || !starts || !ends || (op.getAxes() && !axes) || (op.getSteps() && !strides))
        return fail(op, "picks among rows");
      int64_t place = in->rows + llvm::count(ArrayRef<Axis>(in->axes).take_front(axis), Axis::Feature);
      these.push_back({place, (*starts)[i], (*ends)[i], step});
    }
    if (steps && *steps != these)
      return fail(op, "is unlike the same step of another expert");
    steps = these;
  }
  Value value = in->value;
  for (auto [axis, start, end, step] : *steps)
    value = graph.slice(value, axis, start, end, step);
  Axes axes = in->axes;
  ArrayRef<SymbolicExpr> to = context.shapes.shape(ops.front()->getResult(0));
  for (auto [axis, extent] : llvm::zip(axes, to))
    if (axis == Axis::Feature && extent.isConstant(1))
      axis = Axis::Unit;
  return RowValue{withFeatures(value, in->rows, features(to, axes)), axes, in->rows};
}

std::optional<RowValue> RowTracer::split(ArrayRef<Operation *> ops, unsigned result) {
  std::optional<RowValue> in = traceOperand(ops, 0);
  if (!in)
    return std::nullopt;
  auto op = cast<onnx::SplitOp>(ops.front());
  int64_t axis = fromFront(op.getAxis(), in->axes.size()), start = 0;
  if (in->axes[axis] != Axis::Feature)
    return fail(op, "picks among rows");
  for (unsigned i = 0; i < result; ++i) {
    std::optional<int64_t> extent = context.shapes.shape(op.getOutputs()[i])[axis].constant();
    if (!extent)
      return std::nullopt;
    start += *extent;
  }
  Dims to(context.shapes.shape(op.getOutputs()[result]));
  std::optional<int64_t> extent = to[axis].constant();
  if (!extent)
    return std::nullopt;
  for (Operation *other : ops)
    for (unsigned i = 0; i <= result; ++i)
      if (context.shapes.shape(other->getResult(i))[axis] != context.shapes.shape(op.getOutputs()[i])[axis])
        return fail(other, "is unlike the same step of another expert");
  int64_t place = in->rows + llvm::count(ArrayRef<Axis>(in->axes).take_front(axis), Axis::Feature);
  Value value = graph.slice(in->value, place, start, start + *extent);
  Axes axes = in->axes;
  if (*extent == 1)
    axes[axis] = Axis::Unit;
  return RowValue{withFeatures(value, in->rows, features(to, axes)), axes, in->rows};
}

std::optional<RowValue> RowTracer::concat(ArrayRef<Operation *> ops) {
  auto op = cast<onnx::ConcatOp>(ops.front());
  SmallVector<Value> values;
  std::optional<RowValue> first;
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    std::optional<RowValue> operand = traceOperand(ops, i);
    if (!operand)
      return std::nullopt;
    if (first && (operand->axes != first->axes || operand->rows != first->rows))
      return fail(op, "joins different rows");
    if (!first)
      first = operand;
    values.push_back(operand->value);
  }
  int64_t axis = fromFront(op.getAxis(), first->axes.size());
  if (first->axes[axis] != Axis::Feature)
    return fail(op, "joins rows");
  int64_t place = first->rows + llvm::count(ArrayRef<Axis>(first->axes).take_front(axis), Axis::Feature);
  Value value = graph.create("Concat", values, {graph.attribute("axis", place)})->getResult(0);
  return RowValue{value, first->axes, first->rows};
}

std::optional<RowValue> RowTracer::gather(ArrayRef<Operation *> ops) {
  std::optional<RowValue> in = traceOperand(ops, 0);
  if (!in)
    return std::nullopt;
  auto op = cast<onnx::GatherOp>(ops.front());
  int64_t axis = fromFront(op.getAxis(), in->axes.size());
  if (in->axes[axis] != Axis::Feature)
    return fail(op, "picks among rows");
  std::optional<SmallVector<int64_t>> indices = context.shapes.constants(op.getIndices());
  if (!indices || context.shapes.rank(op.getIndices()) > 1)
    return fail(op, "picks features by an index that is not known");
  for (Operation *other : ops)
    if (context.shapes.constants(cast<onnx::GatherOp>(other).getIndices()) != indices)
      return fail(other, "is unlike the same step of another expert");
  int64_t place = in->rows + llvm::count(ArrayRef<Axis>(in->axes).take_front(axis), Axis::Feature);
  Value value =
      graph.create("Gather", {in->value, graph.integers(*indices)}, {graph.attribute("axis", place)})->getResult(0);
  Axes axes = in->axes;
  if (context.shapes.rank(op.getIndices()) == 0)
    axes.erase(axes.begin() + axis);
  else if (indices->size() == 1)
    axes[axis] = Axis::Unit;
  return RowValue{withFeatures(value, in->rows, features(context.shapes.shape(op.getOutput()), axes)), axes, in->rows};
}
