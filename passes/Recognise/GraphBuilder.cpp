// Builds onnx operations whose shapes are known at once.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/GraphBuilder.h"

using namespace farskip;
using namespace mlir;

Operation *GraphBuilder::create(StringRef name, ArrayRef<Value> operands, ArrayRef<NamedAttribute> attributes,
                                unsigned results) {
  OperationState state(location, ("onnx." + name).str());
  SmallVector<int32_t> segments;
  for (Value operand : operands) {
    segments.push_back(operand ? 1 : 0);
    if (operand)
      state.addOperands(operand);
  }
  state.addAttributes(attributes);
  std::optional<RegisteredOperationName> info = state.name.getRegisteredInfo();
  if (info && info->hasTrait<OpTrait::AttrSizedOperandSegments>())
    state.addAttribute("operandSegmentSizes", builder.getDenseI32ArrayAttr(segments));
  // The shape function gives the results their types.
  Type placeholder = RankedTensorType::get({}, getElementTypeOrSelf(operands.front().getType()));
  state.addTypes(SmallVector<Type>(results, placeholder));
  Operation *op = builder.create(state);
  (void)llvm::cast<SymbolicShapeOpInterface>(op).inferShapes(shapes);
  return op;
}

static Value constant(GraphBuilder &graph, DenseElementsAttr value) {
  auto op = onnx::ConstantOp::create(graph.builder, graph.location, value.getType(), value);
  (void)op.inferShapes(graph.shapes);
  return op.getOutput();
}

Value GraphBuilder::integers(ArrayRef<int64_t> numbers) {
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, builder.getI64Type());
  return constant(*this, DenseElementsAttr::get(type, numbers));
}

Value GraphBuilder::number(Type element, double number) {
  APFloat value(number);
  bool ignored;
  value.convert(llvm::cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &ignored);
  return constant(*this, DenseElementsAttr::get(RankedTensorType::get({}, element), value));
}

/// The number of a float type in ONNX's TensorProto.DataType.
static int64_t dataType(Type element) {
  if (element.isF16())
    return 10;
  if (element.isBF16())
    return 16;
  return element.isF64() ? 11 : 1;
}

Value GraphBuilder::cast(Value x, Type element) {
  if (getElementTypeOrSelf(x.getType()) == element)
    return x;
  return create("Cast", {x}, {attribute("to", dataType(element))})->getResult(0);
}

Value GraphBuilder::reshape(Value x, ArrayRef<int64_t> shape) { return binary("Reshape", x, integers(shape)); }

Value GraphBuilder::transpose(Value x, ArrayRef<int64_t> perm) {
  return create("Transpose", {x}, {builder.getNamedAttr("perm", builder.getDenseI64ArrayAttr(perm))})->getResult(0);
}

Value GraphBuilder::softmax(Value x, int64_t axis) {
  return create("Softmax", {x}, {attribute("axis", axis)})->getResult(0);
}

Value GraphBuilder::slice(Value x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  return create("Slice", {x, integers({start}), integers({end}), integers({axis}), integers({step})})->getResult(0);
}
