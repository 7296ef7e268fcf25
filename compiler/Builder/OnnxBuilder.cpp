// From the reader's graph to a module of the onnx dialect.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Builder/OnnxBuilder.h"
#include "compiler/Import/Diagnostics.h"
#include "dialects/Onnx/OnnxOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
namespace reader = farskip::onnx::reader;

namespace farskip {
namespace {

/// Tensors of at most this many bytes become constants in the IR; larger ones
/// stay in their file.
constexpr uint64_t kInlineBytes = 1024;

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

Type elementType(MLIRContext *context, reader::DataType type) {
  Builder b(context);
  using D = reader::DataType;
  auto integer = [&](unsigned width, bool isUnsigned) -> Type {
    return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (type) {
  case D::Float:
    return b.getF32Type();
  case D::Double:
    return b.getF64Type();
  case D::Float16:
    return b.getF16Type();
  case D::BFloat16:
    return b.getBF16Type();
  case D::Bool:
    return b.getI1Type();
  case D::Int8:
    return integer(8, false);
  case D::Int16:
    return integer(16, false);
  case D::Int32:
    return integer(32, false);
  case D::Int64:
    return integer(64, false);
  case D::UInt8:
    return integer(8, true);
  case D::UInt16:
    return integer(16, true);
  case D::UInt32:
    return integer(32, true);
  case D::UInt64:
    return integer(64, true);
  default:
    return {};
  }
}

/// The types that only initializers may have: integers of 2 and 4 bits.
Type narrowType(MLIRContext *context, reader::DataType type) {
  using D = reader::DataType;
  bool isUnsigned = type == D::UInt4 || type == D::UInt2;
  if (!isUnsigned && type != D::Int4 && type != D::Int2)
    return {};
  return IntegerType::get(context, reader::bitWidth(type), isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
}

class ModuleBuilder {
public:
  ModuleBuilder(const reader::Model &model, MLIRContext &context) : model(model), context(&context), b(&context) {}

  llvm::Expected<OwningOpRef<ModuleOp>> build() {
    module = ModuleOp::create(b.getUnknownLoc());
    if (llvm::Error error = checkSupported())
      return error;
    std::string diagnostics;
    // Errors of the shape analysis and the verifier, as text of one
    // llvm::Error.
    ScopedDiagnosticHandler handler(context, [&](mlir::Diagnostic &diagnostic) -> LogicalResult {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return mlir::failure();
      if (diagnostics.empty()) {
        llvm::raw_string_ostream os(diagnostics);
        if (auto name = dyn_cast<NameLoc>(diagnostic.getLocation()))
          os << "node " << reader::quoted(name.getName()) << ": ";
        os << diagnostic;
      }
      return mlir::success();
    });
    if (llvm::Error error = buildMain())
      return error;
    SymbolicShapes shapes;
    if (failed(shapes.run(main)))
      return failure(diagnostics.empty() ? "shapes do not fit" : diagnostics);
    if (llvm::Error error = checkDeclared(shapes))
      return error;
    finishResults(shapes);
    if (failed(verify(*module)))
      return failure(diagnostics.empty() ? "the imported module is not valid" : diagnostics);
    return std::move(module);
  }

private:
  static std::string operationName(const reader::Node &node) {
    return ("onnx." + llvm::Twine(node.domain == "com.microsoft" ? "ms." : "") + node.opType).str();
  }
  std::optional<RegisteredOperationName> operation(const reader::Node &node) {
    if (!node.domain.empty() && node.domain != "com.microsoft")
      return std::nullopt;
    auto name = RegisteredOperationName::lookup(operationName(node), context);
    if (!name || !name->getInterface<onnx::OnnxOpInterface>())
      return std::nullopt;
    return name;
  }

  /// One error for all operators that are missing.
  llvm::Error checkSupported() {
    struct Missing {
      size_t count = 0;
      llvm::StringRef first;
    };
    std::vector<std::pair<std::string, Missing>> missing;
    llvm::StringMap<size_t> places;
    for (const reader::Node &node : model.graph.nodes) {
      if (operation(node))
        continue;
      std::string key = (llvm::Twine(node.domain.empty() ? "ai.onnx" : reader::escaped(node.domain)) + "." +
                         reader::escaped(node.opType) + " version " + llvm::Twine(node.opset))
                            .str();
      auto [at, inserted] = places.try_emplace(key, missing.size());
      if (inserted)
        missing.push_back({key, {}});
      Missing &entry = missing[at->second].second;
      if (!entry.count++)
        entry.first = node.name;
    }
    if (missing.empty())
      return llvm::Error::success();
    std::string text = "the model uses operators that are not supported:";
    size_t shown = 0;
    for (auto &[key, entry] : missing) {
      if (++shown > 40) {
        text += llvm::formatv(" and {0} more", missing.size() - 40);
        break;
      }
      text += llvm::formatv("{0} {1} ({2}x, first node {3})", shown > 1 ? ";" : "", key, entry.count,
                            reader::quoted(entry.first));
    }
    return failure(text);
  }

  llvm::Error buildMain() {
    SmallVector<Type> inputTypes;
    SmallVector<Location> locations;
    const reader::Graph &graph = model.graph;
    llvm::StringMap<const reader::Tensor *> initializers;
    for (const reader::Tensor &tensor : graph.initializers)
      initializers[tensor.name] = &tensor;
    for (const auto *list : {&graph.valueInfos, &graph.outputs})
      for (const reader::ValueInfo &declared : *list)
        if (declared.type.kind == reader::Type::Tensor && declared.type.hasShape)
          declaredRanks[declared.name] = declared.type.dims.size();
    SmallVector<const reader::ValueInfo *> inputs;
    for (const reader::ValueInfo &input : graph.inputs)
      if (!initializers.count(input.name))
        inputs.push_back(&input);
    SmallVector<ArrayAttr> dims;
    for (const reader::ValueInfo *input : inputs) {
      if (input->type.kind != reader::Type::Tensor)
        return failure("input " + reader::quoted(input->name) + " is not a tensor; only tensors are supported");
      Type element = elementType(context, input->type.elementType);
      if (!element)
        return failure("input " + reader::quoted(input->name) + " has element type " +
                       reader::name(input->type.elementType) + ", which is not supported");
      if (!input->type.hasShape)
        return failure("input " + reader::quoted(input->name) + " has no shape; its rank must be known");
      SmallVector<int64_t> extents;
      SmallVector<Attribute> names;
      for (const reader::Dim &dim : input->type.dims) {
        extents.push_back(dim.kind == reader::Dim::Size ? dim.size : ShapedType::kDynamic);
        names.push_back(b.getStringAttr(dim.kind == reader::Dim::Symbol ? dim.symbol : ""));
      }
      inputTypes.push_back(RankedTensorType::get(extents, element));
      dims.push_back(b.getArrayAttr(names));
      locations.push_back(NameLoc::get(b.getStringAttr(input->name)));
    }
    b.setInsertionPointToEnd(module->getBody());
    main = func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType(inputTypes, {}));
    Block *body = b.createBlock(&main.getBody(), {}, inputTypes, locations);
    for (auto [i, input] : llvm::enumerate(inputs)) {
      main.setArgAttr(i, "onnx.name", b.getStringAttr(input->name));
      main.setArgAttr(i, "onnx.dims", dims[i]);
      values[input->name] = body->getArgument(i);
    }
    b.setInsertionPointToEnd(body);
    llvm::StringSet<> used;
    for (const reader::Node &node : graph.nodes)
      for (llvm::StringRef name : node.inputs)
        used.insert(name);
    for (const reader::ValueInfo &output : graph.outputs)
      used.insert(output.name);
    for (const reader::Tensor &tensor : graph.initializers)
      if (used.count(tensor.name))
        if (llvm::Error error = buildTensor(tensor))
          return error;
    for (const reader::Node &node : graph.nodes)
      if (llvm::Error error = buildNode(node))
        return error;
    SmallVector<Value> results;
    for (const reader::ValueInfo &output : graph.outputs) {
      Value value = values.lookup(output.name);
      if (!value)
        return failure("output " + reader::quoted(output.name) + " is produced by no node");
      results.push_back(value);
    }
    func::ReturnOp::create(b, b.getUnknownLoc(), results);
    SmallVector<NamedAttribute> metadata;
    llvm::StringSet<> keys;
    for (const reader::Property &property : model.metadata)
      if (!property.key.empty() && keys.insert(property.key).second)
        metadata.push_back(b.getNamedAttr(property.key, b.getStringAttr(property.value)));
    module.get()->setAttr("onnx.metadata", b.getDictionaryAttr(metadata));
    return llvm::Error::success();
  }

  llvm::Error buildTensor(const reader::Tensor &tensor) {
    Type element = elementType(context, tensor.type);
    if (!element)
      element = narrowType(context, tensor.type);
    if (!element)
      return failure("tensor " + reader::quoted(tensor.name) + " has element type " + reader::name(tensor.type) +
                     ", which is not supported");
    auto type = RankedTensorType::get(tensor.dims, element);
    Location loc = NameLoc::get(b.getStringAttr(tensor.name));
    Operation *op;
    if (tensor.data.isOwned() || tensor.data.length <= kInlineBytes) {
      auto constant = onnx::ConstantOp::create(b, loc, type, constantOf(tensor, type));
      constant->setAttr("onnx.outputs", b.getStrArrayAttr({tensor.name}));
      op = constant;
    } else {
      op = onnx::WeightOp::create(b, loc, type, b.getStringAttr(tensor.name), b.getI64IntegerAttr(tensor.data.file),
                                  b.getI64IntegerAttr(tensor.data.offset), b.getI64IntegerAttr(tensor.data.length));
    }
    values[tensor.name] = op->getResult(0);
    return llvm::Error::success();
  }

  DenseElementsAttr constantOf(const reader::Tensor &tensor, RankedTensorType type) {
    llvm::ArrayRef<char> bytes = model.bytes(tensor);
    if (type.getElementType().isInteger(1)) {
      SmallVector<bool> bits(bytes.begin(), bytes.end());
      return DenseElementsAttr::get(type, bits);
    }
    if (unsigned width = type.getElementTypeBitWidth(); width < 8) {
      SmallVector<APInt> numbers;
      for (int64_t i = 0, e = type.getNumElements(); i < e; ++i)
        numbers.push_back(APInt(8, static_cast<uint8_t>(bytes[i * width / 8])).extractBits(width, i * width % 8));
      return DenseElementsAttr::get(type, numbers);
    }
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  }

  llvm::Error buildNode(const reader::Node &node) {
    // The same value under another name.
    if (node.domain.empty() && node.opType == "Identity" && node.inputs.size() == 1 && node.outputs.size() == 1)
      if (Value value = values.lookup(node.inputs[0])) {
        values[node.outputs[0]] = value;
        return llvm::Error::success();
      }
    std::string where = "node " + reader::quoted(node.name) + " (" + reader::escaped(node.opType) + "): ";
    llvm::ArrayRef<onnx::Field> fields = operation(node)->getInterface<onnx::OnnxOpInterface>()->fields();
    OperationState state(NameLoc::get(b.getStringAttr(node.name)), operationName(node));
    SmallVector<int32_t> segments;
    size_t next = 0;
    llvm::StringSet<> known;
    for (const onnx::Field &field : fields) {
      if (!field.isOperand()) {
        known.insert(field.name);
        continue;
      }
      if (field.kind == 'v') {
        size_t first = next;
        for (; next < node.inputs.size(); ++next)
          if (llvm::Error error = addOperand(state, node.inputs[next], where))
            return error;
        segments.push_back(next - first);
        continue;
      }
      bool present = next < node.inputs.size() && !node.inputs[next].empty();
      if (!present && field.required)
        return failure(where + "input " + llvm::Twine(next) + " ('" + field.name + "') is required");
      if (present)
        if (llvm::Error error = addOperand(state, node.inputs[next], where))
          return error;
      segments.push_back(present);
      ++next;
    }
    for (size_t extra = next; extra < node.inputs.size(); ++extra)
      if (!node.inputs[extra].empty())
        return failure(where + "has " + llvm::Twine(node.inputs.size()) + " inputs, at most " + llvm::Twine(next) +
                       " are known");
    for (const reader::Attribute &attribute : node.attributes) {
      if (!known.count(attribute.name))
        return failure(where + "unknown attribute " + reader::quoted(attribute.name));
    }
    for (const onnx::Field &field : fields)
      if (!field.isOperand())
        if (llvm::Error error = addAttribute(state, node, field, where))
          return error;
    if (operation(node)->hasTrait<OpTrait::AttrSizedOperandSegments>())
      state.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr(segments));
    if (llvm::Error error = addResults(state, node, where))
      return error;
    state.addAttribute("onnx.node", b.getStringAttr(node.name));
    state.addAttribute("onnx.outputs",
                       b.getStrArrayAttr(SmallVector<llvm::StringRef>(node.outputs.begin(), node.outputs.end())));
    Operation *op = b.create(state);
    for (auto [name, result] : llvm::zip(node.outputs, op->getResults()))
      if (!name.empty())
        values[name] = result;
    return llvm::Error::success();
  }

  llvm::Error addOperand(OperationState &state, llvm::StringRef name, const std::string &where) {
    Value value = values.lookup(name);
    if (!value)
      return failure(where + "input " + reader::quoted(name) + " is produced by no node");
    state.addOperands(value);
    return llvm::Error::success();
  }

  llvm::Error addResults(OperationState &state, const reader::Node &node, const std::string &where) {
    RegisteredOperationName name = *operation(node);
    size_t count = node.outputs.size();
    if (name.hasTrait<OpTrait::OneResult>())
      count = 1;
    for (int64_t n : {2, 3, 4, 5})
      if (hasResults(name, n))
        count = n;
    if (node.outputs.size() > count)
      return failure(where + "has " + llvm::Twine(node.outputs.size()) + " outputs, at most " + llvm::Twine(count) +
                     " are known");
    // Types come from the shape analysis; until then they say which rank the model declares, if any.
    for (size_t i = 0; i < count; ++i) {
      auto rank = i < node.outputs.size() ? declaredRanks.find(node.outputs[i]) : declaredRanks.end();
      if (rank == declaredRanks.end())
        state.addTypes(UnrankedTensorType::get(b.getF32Type()));
      else
        state.addTypes(RankedTensorType::get(SmallVector<int64_t>(rank->second, ShapedType::kDynamic), b.getF32Type()));
    }
    return llvm::Error::success();
  }

  static bool hasResults(RegisteredOperationName name, int64_t n) {
    switch (n) {
    case 2:
      return name.hasTrait<OpTrait::NResults<2>::Impl>();
    case 3:
      return name.hasTrait<OpTrait::NResults<3>::Impl>();
    case 4:
      return name.hasTrait<OpTrait::NResults<4>::Impl>();
    default:
      return name.hasTrait<OpTrait::NResults<5>::Impl>();
    }
  }

  llvm::Error addAttribute(OperationState &state, const reader::Node &node, const onnx::Field &field,
                           const std::string &where) {
    const reader::Attribute *given = node.attribute(field.name);
    if (!given) {
      if (field.required)
        return failure(where + "attribute '" + field.name + "' is required");
      return llvm::Error::success();
    }
    using T = reader::AttributeType;
    auto expect = [&](T type) -> llvm::Error {
      if (given->type == type)
        return llvm::Error::success();
      return failure(where + "attribute '" + field.name + "' has type " + reader::name(given->type) + ", wanted " +
                     reader::name(type));
    };
    Attribute value;
    switch (field.kind) {
    case 'i':
      if (llvm::Error error = expect(T::Int))
        return error;
      value = b.getI64IntegerAttr(given->i);
      break;
    case 'f':
      if (llvm::Error error = expect(T::Float))
        return error;
      value = b.getF32FloatAttr(given->f);
      break;
    case 's':
      if (llvm::Error error = expect(T::String))
        return error;
      value = b.getStringAttr(given->s);
      break;
    case 'I':
      if (llvm::Error error = expect(T::Ints))
        return error;
      value = b.getDenseI64ArrayAttr(given->ints);
      break;
    case 'F':
      if (llvm::Error error = expect(T::Floats))
        return error;
      value = b.getDenseF32ArrayAttr(given->floats);
      break;
    default: {
      if (llvm::Error error = expect(T::Tensor))
        return error;
      Type element = elementType(context, given->tensor->type);
      if (!element)
        return failure(where + "attribute '" + field.name + "' has element type " + reader::name(given->tensor->type) +
                       ", which is not supported");
      value = constantOf(*given->tensor, RankedTensorType::get(given->tensor->dims, element));
    }
    }
    state.addAttribute(field.name, value);
    return llvm::Error::success();
  }

  /// What the model declares of its values must not contradict what was derived.
  llvm::Error checkDeclared(SymbolicShapes &shapes) {
    for (const auto *list : {&model.graph.outputs, &model.graph.valueInfos})
      for (const reader::ValueInfo &declared : *list) {
        Value value = values.lookup(declared.name);
        if (!value || declared.type.kind != reader::Type::Tensor)
          continue;
        Type element = elementType(context, declared.type.elementType);
        auto type = cast<RankedTensorType>(value.getType());
        if (element && element != type.getElementType())
          return failure("value " + reader::quoted(declared.name) + " is declared as " +
                         reader::name(declared.type.elementType) + ", but has another element type");
        // Real exporters leave stale shapes on inner values; only the outputs' are promises.
        if (!declared.type.hasShape || list != &model.graph.outputs)
          continue;
        Dims dims(shapes.shape(value));
        bool fits = dims.size() == declared.type.dims.size();
        for (size_t i = 0; fits && i < dims.size(); ++i)
          fits = declared.type.dims[i].kind != reader::Dim::Size ||
                 !dims[i].isNever(SymbolicExpr(declared.type.dims[i].size));
        if (!fits)
          return failure("value " + reader::quoted(declared.name) + " is declared with another shape than " +
                         shapes.str(dims));
      }
    return llvm::Error::success();
  }

  void finishResults(SymbolicShapes &shapes) {
    Operation *terminator = main.getBody().front().getTerminator();
    SmallVector<Type> inputs(main.getArgumentTypes()), results(terminator->getOperandTypes());
    main.setFunctionType(b.getFunctionType(inputs, results));
    for (auto [i, output] : llvm::enumerate(model.graph.outputs)) {
      SmallVector<Attribute> names;
      for (const SymbolicExpr &dim : shapes.shape(terminator->getOperand(i)))
        names.push_back(b.getStringAttr(dim.constant() ? "" : outputDim(shapes, dim)));
      main.setResultAttr(i, "onnx.name", b.getStringAttr(output.name));
      main.setResultAttr(i, "onnx.dims", b.getArrayAttr(names));
    }
  }

  /// The expression as text when all its symbols have names of the model's.
  static std::string outputDim(SymbolicShapes &shapes, const SymbolicExpr &dim) {
    for (const SymbolicExpr::Term &term : dim.terms())
      for (SymbolicExpr::Symbol symbol : term.symbols)
        if (shapes.definition(symbol).name.empty())
          return "";
    return shapes.str(dim);
  }

  const reader::Model &model;
  MLIRContext *context;
  OpBuilder b;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
  llvm::StringMap<Value> values;
  llvm::StringMap<int64_t> declaredRanks;
};

} // namespace

llvm::Expected<OwningOpRef<ModuleOp>> buildModule(const reader::Model &model, MLIRContext &context) {
  return ModuleBuilder(model, context).build();
}

} // namespace farskip
