// The driver of the ONNX lowering and the sizes of tensors.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"
#include "dialects/Rt/RtOps.h"

using namespace farskip;
using namespace mlir;

Type farskip::signlessType(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return element;
  unsigned width = integer.getWidth();
  return IntegerType::get(element.getContext(), width == 1 ? 1 : std::max(width, 8u));
}

bool farskip::isUnsignedElement(Value onnx) {
  Type type = getElementTypeOrSelf(onnx.getType());
  return type.isUnsignedInteger() || type.isInteger(1);
}

std::string farskip::nodeName(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>("onnx.node"))
    if (!name.empty())
      return name.str();
  return op->getName().stripDialect().str();
}

LogicalResult OnnxLowering::lowerOperations(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    current = &op;
    location = op.getLoc();
    if (op.getBlock() == &function.getBody().front())
      builder.setInsertionPoint(&op);
    const OnnxLoweringRegistry::Function *lower = registry.find(&op);
    if (!lower)
      return op.emitError() << "no lowering for operator " << op.getName().stripDialect();
    if (!op.use_empty() && failed((*lower)(&op, *this)))
      return failure();
  }
  return success();
}

LogicalResult OnnxLowering::lowerBlock(Block &from, Block &to) {
  OpBuilder::InsertionGuard guard(builder);
  Operation *owner = current;
  // What is computed inside is unknown outside.
  DenseMap<SymbolicExpr::Symbol, Value> outside = symbols;
  for (BlockArgument argument : from.getArguments())
    values[argument] = to.addArgument(type(argument), argument.getLoc());
  builder.setInsertionPointToEnd(&to);
  LogicalResult result = lowerOperations(from);
  symbols = std::move(outside);
  current = owner;
  location = owner->getLoc();
  return result;
}

LogicalResult OnnxLowering::run() {
  Block &body = function.getBody().front();
  SmallVector<Type> inputs, outputs;
  SmallVector<Operation *> old;
  for (Operation &op : body.without_terminator())
    old.push_back(&op);
  // New arguments behind the old ones, whose types say whether their integers are unsigned.
  SmallVector<BlockArgument> arguments(body.getArguments());
  for (BlockArgument argument : arguments) {
    RankedTensorType lowered = type(argument);
    values[argument] = body.addArgument(lowered, argument.getLoc());
    inputs.push_back(lowered);
  }
  if (failed(lowerOperations(body)))
    return failure();
  Operation *terminator = body.getTerminator();
  SmallVector<Value> results;
  for (Value result : terminator->getOperands()) {
    results.push_back(values.lookup(result));
    outputs.push_back(results.back().getType());
  }
  terminator->setOperands(results);
  function.setFunctionType(FunctionType::get(function.getContext(), inputs, outputs));
  for (Operation *op : llvm::reverse(old))
    op->erase();
  body.eraseArguments(0, arguments.size());
  return success();
}

RankedTensorType OnnxLowering::type(Value onnx) {
  SmallVector<int64_t> extents;
  for (const SymbolicExpr &dim : shapes.shape(onnx))
    extents.push_back(dim.constant().value_or(ShapedType::kDynamic));
  return RankedTensorType::get(extents, signlessType(getElementTypeOrSelf(onnx.getType())));
}

void OnnxLowering::set(Value onnx, Value lowered) {
  RankedTensorType wanted = type(onnx);
  if (lowered.getType() != wanted)
    lowered = tensor::CastOp::create(builder, location, wanted, lowered);
  values[onnx] = lowered;
}

Value OnnxLowering::index(int64_t number) { return arith::ConstantIndexOp::create(builder, location, number); }

Value OnnxLowering::scalar(Type element, double number) {
  element = signlessType(element);
  if (auto real = dyn_cast<FloatType>(element)) {
    APFloat value(number);
    bool ignored;
    value.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven, &ignored);
    return arith::ConstantOp::create(builder, location, FloatAttr::get(real, value));
  }
  return integer(element, static_cast<int64_t>(number));
}

Value OnnxLowering::integer(Type element, int64_t number) {
  element = signlessType(element);
  if (isa<FloatType>(element))
    return scalar(element, static_cast<double>(number));
  APInt bits = APInt(64, static_cast<uint64_t>(number)).sextOrTrunc(cast<IntegerType>(element).getWidth());
  return arith::ConstantOp::create(builder, location, IntegerAttr::get(element, bits));
}

Value OnnxLowering::symbol(SymbolicExpr::Symbol id) {
  if (Value known = symbols.lookup(id))
    return known;
  const SymbolDefinition definition = shapes.definition(id);
  using Kind = SymbolDefinition::Kind;
  if (definition.kind == Kind::Extent) {
    // Right behind what defines it, so that it dominates all later uses.
    OpBuilder::InsertionGuard guard(builder);
    Value lowered = values.lookup(definition.value);
    builder.setInsertionPointAfterValue(lowered);
    return symbols[id] = tensor::DimOp::create(builder, location, lowered, definition.axis);
  }
  Value lhs = sizeValue(definition.lhs), rhs = sizeValue(definition.rhs), result;
  switch (definition.kind) {
  case Kind::FloorDiv:
    result = arith::FloorDivSIOp::create(builder, location, lhs, rhs);
    break;
  case Kind::CeilDiv:
    result = arith::CeilDivSIOp::create(builder, location, lhs, rhs);
    break;
  case Kind::Max:
    result = arith::MaxSIOp::create(builder, location, lhs, rhs);
    break;
  case Kind::Min:
    result = arith::MinSIOp::create(builder, location, lhs, rhs);
    break;
  default: {
    Value isOne = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, rhs, index(1));
    result = arith::SelectOp::create(builder, location, isOne, lhs, rhs);
  }
  }
  return symbols[id] = result;
}

Value OnnxLowering::sizeValue(const SymbolicExpr &expr) {
  if (expr.constant())
    return index(*expr.constant());
  Value sum;
  for (const SymbolicExpr::Term &term : expr.terms()) {
    Value product;
    for (SymbolicExpr::Symbol id : term.symbols) {
      Value factor = symbol(id);
      product = product ? arith::MulIOp::create(builder, location, product, factor).getResult() : factor;
    }
    if (!product)
      product = index(term.coefficient);
    else if (term.coefficient != 1)
      product = arith::MulIOp::create(builder, location, product, index(term.coefficient));
    sum = sum ? arith::AddIOp::create(builder, location, sum, product).getResult() : product;
  }
  return sum;
}

OpFoldResult OnnxLowering::size(const SymbolicExpr &expr) {
  if (expr.constant())
    return builder.getIndexAttr(*expr.constant());
  return sizeValue(expr);
}

SmallVector<OpFoldResult> OnnxLowering::sizes(ArrayRef<SymbolicExpr> dims) {
  SmallVector<OpFoldResult> result;
  for (const SymbolicExpr &dim : dims)
    result.push_back(size(dim));
  return result;
}

Value OnnxLowering::empty(ArrayRef<SymbolicExpr> dims, Type element) {
  return tensor::EmptyOp::create(builder, location, sizes(dims), signlessType(element));
}

Value OnnxLowering::onlyElement(Value onnx) {
  SmallVector<Value> at(shapes.rank(onnx), index(0));
  return tensor::ExtractOp::create(builder, location, value(onnx), at);
}

Value OnnxLowering::filled(ArrayRef<SymbolicExpr> dims, Value scalar) {
  return linalg::FillOp::create(builder, location, scalar, empty(dims, scalar.getType())).getResult(0);
}

void OnnxLowering::check(Value condition, const Twine &message, ValueRange values) {
  rt::CheckOp::create(builder, location, condition, builder.getStringAttr(nodeName(current) + ": " + message), values);
}
