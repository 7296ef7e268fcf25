// Tracing values in lanes, and building moe.experts from what was traced.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/RowTracer.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/Recognise/Passes.h"
#include "passes/Recognise/Structure.h"

using namespace farskip;
using namespace mlir;

RowTracer::RowTracer(RaiseContext &context, Location location)
    : context(context), region(std::make_unique<Region>()), block(&region->emplaceBlock()),
      inner(context.builder.getContext()), graph(inner, location, context.shapes) {
  inner.setInsertionPointToEnd(block);
}

RowTracer::~RowTracer() {
  if (region)
    context.discarded.push_back(std::move(region));
}

std::optional<RowValue> RowTracer::fail(Operation *op, StringRef why) {
  if (!context.miss.op)
    context.miss = {op, why.str()};
  return std::nullopt;
}

/// Same operation, attributes and number of operands; where it came from does not matter.
static bool alike(Operation *a, Operation *b) {
  if (isa<onnx::CastOp, onnx::CastLikeOp>(a) && isa<onnx::CastOp, onnx::CastLikeOp>(b))
    return getElementTypeOrSelf(a->getResult(0).getType()) == getElementTypeOrSelf(b->getResult(0).getType());
  if (a->getName() != b->getName() || a->getNumOperands() != b->getNumOperands() ||
      a->getNumResults() != b->getNumResults())
    return false;
  auto meaning = [](Operation *op) {
    NamedAttrList attributes(op->getAttrDictionary());
    attributes.erase("onnx.node");
    attributes.erase("onnx.outputs");
    attributes.erase(kMissedAttr);
    return attributes.getDictionary(op->getContext());
  };
  return meaning(a) == meaning(b);
}

std::optional<RowValue> RowTracer::trace(ArrayRef<Value> lanes) {
  constexpr int kMaxDepth = 200;
  if (llvm::all_equal(lanes))
    lanes = lanes.take_front();
  auto at = known.find(lanes.front());
  if (at != known.end() && ArrayRef<Value>(at->second.first) == lanes)
    return at->second.second;
  std::optional<RowValue> result;
  if (Leaf found = leaf(lanes); found.known) {
    result = found.value;
  } else {
    result = depth < kMaxDepth ? traceDefinition(lanes) : std::nullopt;
  }
  known[lanes.front()] = {SmallVector<Value>(lanes), result};
  return result;
}

bool RowTracer::isSliced(ArrayRef<Value> lanes) const {
  if (static_cast<int64_t>(lanes.size()) != experts)
    return false;
  Value whole;
  for (auto [e, lane] : llvm::enumerate(lanes)) {
    std::optional<Part> part = partOf(lane, context.shapes);
    if (!part || part->axis != 0 || part->index != static_cast<int64_t>(e) || (whole && part->whole != whole))
      return false;
    whole = part->whole;
  }
  return context.shapes.shape(whole)[0].isConstant(experts) && isParameter(whole);
}

std::optional<RowValue> RowTracer::traceDefinition(ArrayRef<Value> lanes) {
  SmallVector<Operation *> ops;
  for (Value lane : lanes)
    if (Operation *op = lane.getDefiningOp())
      ops.push_back(op);
  if (ops.size() != lanes.size())
    return std::nullopt;
  if (llvm::all_of(lanes, isConstant))
    return constant(lanes);
  if (isSliced(lanes)) {
    Axes axes;
    for (const SymbolicExpr &dim : context.shapes.shape(lanes.front()))
      axes.push_back(dim.isConstant(1) ? Axis::Unit : Axis::Feature);
    return parameter(lanes, axes).value;
  }
  bool views = llvm::all_of(lanes, [&](Value lane) { return viewed(lane, context.shapes); });
  unsigned number = cast<OpResult>(lanes.front()).getResultNumber();
  for (auto [lane, op] : llvm::zip(lanes, ops))
    if ((!views && !alike(op, ops.front())) || cast<OpResult>(lane).getResultNumber() != number)
      return fail(op, "is unlike the same step of another expert");
  ++depth;
  std::optional<RowValue> result = traceOperation(ops, number);
  --depth;
  return result;
}

std::optional<RowValue> RowTracer::traceOperand(ArrayRef<Operation *> ops, unsigned operand) {
  SmallVector<Value> lanes;
  auto made = [](Value value) {
    Operation *op = value.getDefiningOp();
    return op ? op->getName().getAsOpaquePointer() : nullptr;
  };
  for (Operation *op : ops) {
    // The same two operands in the other order.
    bool swapped = isa<onnx::AddOp, onnx::MulOp>(op) &&
                   made(op->getOperand(operand)) != made(ops.front()->getOperand(operand)) &&
                   made(op->getOperand(1 - operand)) == made(ops.front()->getOperand(operand)) &&
                   made(op->getOperand(operand)) == made(ops.front()->getOperand(1 - operand));
    lanes.push_back(op->getOperand(swapped ? 1 - operand : operand));
  }
  return trace(lanes);
}

std::optional<RowValue> RowTracer::constant(ArrayRef<Value> lanes) {
  ArrayRef<SymbolicExpr> dims = context.shapes.shape(lanes.front());
  Axes axes;
  SmallVector<int64_t> shape;
  for (const SymbolicExpr &dim : dims) {
    if (!dim.constant())
      return std::nullopt;
    axes.push_back(dim.isConstant(1) ? Axis::Unit : Axis::Feature);
    if (!dim.isConstant(1))
      shape.push_back(*dim.constant());
  }
  auto first = lanes.front().getDefiningOp<onnx::ConstantOp>();
  auto dense = first ? dyn_cast_or_null<DenseElementsAttr>(first.getValue().value_or(ElementsAttr())) : nullptr;
  bool same = llvm::all_of(lanes, [&](Value lane) {
    auto op = lane.getDefiningOp<onnx::ConstantOp>();
    return op && first && op.getValue() == first.getValue();
  });
  if (same && dense && (shape.empty() || lanes.size() == 1)) {
    auto type = RankedTensorType::get(shape, dense.getElementType());
    auto op = onnx::ConstantOp::create(inner, graph.location, type, dense.reshape(type));
    (void)op.inferShapes(context.shapes);
    return RowValue{op.getOutput(), axes, false};
  }
  if (lanes.size() == 1)
    return fail(lanes.front().getDefiningOp(), "is a weight of all experts together");
  return parameter(lanes, axes).value;
}

RowTracer::Leaf RowTracer::rows(Value outer, Axes axes) {
  if (!x) {
    x = outer;
    SymbolicExpr width = context.shapes.shape(x).back();
    if (!width.constant())
      return Leaf::fail();
    auto type = RankedTensorType::get({ShapedType::kDynamic, *width.constant()}, getElementTypeOrSelf(outer.getType()));
    BlockArgument added = block->insertArgument(0u, type, graph.location);
    context.shapes.set(added, type.getElementType(), {context.shapes.fresh(added, 0), width});
    argument = added;
  }
  if (outer != x)
    return Leaf::fail();
  return {true, RowValue{argument, axes, true}};
}

RowTracer::Leaf RowTracer::parameter(ArrayRef<Value> parts, Axes axes) {
  for (const Parameter &parameter : parameters)
    if (ArrayRef<Value>(parameter.parts) == parts)
      return {true, RowValue{parameter.argument, axes, false}};
  Parameter parameter;
  parameter.parts.assign(parts.begin(), parts.end());
  bool whole = parts.size() == 1;
  auto type = cast<RankedTensorType>(parts.front().getType());
  for (Value part : parts)
    if (part.getType() != type)
      return Leaf::fail();
  if (!type.hasStaticShape() || (whole && (type.getRank() == 0 || type.getDimSize(0) != experts)))
    return Leaf::fail();
  for (int64_t extent : type.getShape().drop_front(whole ? 1 : 0))
    if (extent != 1)
      parameter.shape.push_back(extent);
  parameter.argument =
      block->addArgument(RankedTensorType::get(parameter.shape, type.getElementType()), graph.location);
  context.shapes.set(parameter.argument, type.getElementType(), Dims(parameter.shape.begin(), parameter.shape.end()));
  parameters.push_back(parameter);
  return {true, RowValue{parameter.argument, axes, false}};
}

/// `value` with another static shape of the same elements.
static Value reshaped(Value value, ArrayRef<int64_t> shape, GraphBuilder &outside) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  auto wanted = RankedTensorType::get(shape, type.getElementType());
  if (auto constant = value.getDefiningOp<onnx::ConstantOp>())
    if (auto dense = dyn_cast_or_null<DenseElementsAttr>(constant.getValue().value_or(ElementsAttr()))) {
      auto op = onnx::ConstantOp::create(outside.builder, outside.location, wanted, dense.reshape(wanted));
      (void)op.inferShapes(outside.shapes);
      return op.getOutput();
    }
  if (auto weight = value.getDefiningOp<onnx::WeightOp>()) {
    auto op = onnx::WeightOp::create(outside.builder, outside.location, wanted, weight.getNameAttr(),
                                     weight.getFileAttr(), weight.getOffsetAttr(), weight.getLengthAttr());
    (void)op.inferShapes(outside.shapes);
    return op.getOutput();
  }
  return outside.reshape(value, shape);
}

Value RowTracer::stacked(const Parameter &parameter, GraphBuilder &outside) {
  SmallVector<int64_t> whole{experts};
  llvm::append_range(whole, parameter.shape);
  if (parameter.parts.size() == 1)
    return reshaped(parameter.parts.front(), whole, outside);
  // Slices of one tensor in the order of the experts are that tensor.
  if (isSliced(parameter.parts))
    return reshaped(partOf(parameter.parts.front(), context.shapes)->whole, whole, outside);
  SmallVector<Value> parts;
  for (Value part : parameter.parts)
    parts.push_back(reshaped(part, parameter.shape, outside));
  auto type = RankedTensorType::get(whole, getElementTypeOrSelf(parts.front().getType()));
  auto stack = moe::StackOp::create(outside.builder, outside.location, type, parts);
  (void)stack.inferShapes(outside.shapes);
  return stack.getStacked();
}

Value RowTracer::shaped(Value y, Value like, GraphBuilder &outside) {
  Dims dims(context.shapes.shape(like)), from(context.shapes.shape(y)), outer(context.shapes.shape(x));
  if (dims == from)
    return y;
  if (dims.empty() || dims.back() != from.back() || context.shapes.elements(like) != context.shapes.elements(y))
    return {};
  if (llvm::count_if(dims, [](const SymbolicExpr &dim) { return !dim.constant(); }) <= 1) {
    SmallVector<int64_t> shape;
    for (const SymbolicExpr &dim : dims)
      shape.push_back(dim.constant().value_or(-1));
    return outside.reshape(y, shape);
  }
  // Extents that only the run knows are those of x.
  SmallVector<Value> extents;
  Value whole;
  for (const SymbolicExpr &dim : dims) {
    if (dim.constant()) {
      extents.push_back(outside.integers({*dim.constant()}));
      continue;
    }
    const SymbolicExpr *same = llvm::find(outer, dim);
    if (same == outer.end())
      return {};
    if (!whole)
      whole = outside.unary("Shape", x);
    int64_t axis = same - outer.begin();
    extents.push_back(outside.slice(whole, 0, axis, axis + 1));
  }
  Value shape = outside.create("Concat", extents, {outside.attribute("axis", 0)})->getResult(0);
  return outside.binary("Reshape", y, shape);
}

Value RowTracer::build(const RowValue &result, Value weights, Value selected, Value like, Operation *root) {
  Value yielded = result.value;
  auto type = dyn_cast<RankedTensorType>(yielded.getType());
  if (!result.rows || !type || type.getRank() != 2 || type.isDynamicDim(1) || !x || parameters.empty())
    return {};
  SymbolicExpr pairs = tokens * SymbolicExpr(slots);
  if (context.shapes.elements(x) != tokens * context.shapes.shape(x).back() ||
      context.shapes.elements(weights) != pairs || context.shapes.elements(selected) != pairs)
    return {};
  moe::YieldOp::create(inner, graph.location, yielded);
  GraphBuilder outside(context.builder, graph.location, context.shapes);
  auto flat = [&](Value value, int64_t width) {
    value = baseOfViews(value, context.shapes);
    ArrayRef<SymbolicExpr> dims = context.shapes.shape(value);
    bool already = dims.size() == 2 && dims[0] == tokens && dims[1].isConstant(width);
    return already ? value : outside.reshape(value, {-1, width});
  };
  int64_t width = *context.shapes.shape(x).back().constant();
  SmallVector<Value> params;
  for (const Parameter &parameter : parameters)
    params.push_back(stacked(parameter, outside));
  Value input = flat(x, width), w = flat(weights, slots), e = flat(selected, slots);
  if (prepare)
    input = prepare(input, outside);
  auto y = RankedTensorType::get({cast<RankedTensorType>(input.getType()).getDimSize(0), type.getDimSize(1)},
                                 type.getElementType());
  auto moe = moe::ExpertsOp::create(context.builder, graph.location, y, input, w, e, params);
  if (Attribute node = root->getAttr("onnx.node"))
    moe->setAttr("onnx.node", node);
  moe->setAttr(kFormAttr, context.builder.getStringAttr(context.form));
  moe.getBody().takeBody(*region);
  region.reset();
  (void)moe.inferShapes(context.shapes);
  return shaped(outside.cast(moe.getY(), getElementTypeOrSelf(like.getType())), like, outside);
}
