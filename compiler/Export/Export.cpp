// The module as ModelProto; field numbers are those of onnx.proto.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Export/Export.h"
#include "compiler/Export/Opsets.h"
#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/Proto.h"
#include "dialects/Onnx/OnnxOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
namespace reader = farskip::onnx::reader;

namespace farskip {
namespace {

using reader::failure;

/// Protobuf's messages have fewer bytes than this.
constexpr uint64_t kMaxBytes = uint64_t(1) << 31;

reader::DataType dataType(Type type) {
  using D = reader::DataType;
  if (type.isF32())
    return D::Float;
  if (type.isF64())
    return D::Double;
  if (type.isF16())
    return D::Float16;
  if (type.isBF16())
    return D::BFloat16;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return D::Undefined;
  switch (integer.getWidth()) {
  case 1:
    return D::Bool;
  case 8:
    return integer.isUnsigned() ? D::UInt8 : D::Int8;
  case 16:
    return integer.isUnsigned() ? D::UInt16 : D::Int16;
  case 32:
    return integer.isUnsigned() ? D::UInt32 : D::Int32;
  case 64:
    return integer.isUnsigned() ? D::UInt64 : D::Int64;
  default:
    return D::Undefined;
  }
}

/// Each name once; others get a number.
class UniqueNames {
public:
  std::string make(StringRef wanted) {
    std::string name = wanted.str();
    for (size_t &next = counters[wanted]; !used.insert(name).second;)
      name = (wanted + "_" + Twine(++next)).str();
    return name;
  }

private:
  llvm::StringSet<> used;
  llvm::StringMap<size_t> counters;
};

class Exporter {
public:
  Exporter(ModuleOp module, const reader::ModelFiles &files) : module(module), files(files) {}

  llvm::Expected<WireWriter> run() {
    main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.getBody().empty())
      return failure("there is no function 'main' to write");
    nameValues();
    graph.bytes(2, "main");
    for (Operation &op : main.getBody().front().without_terminator())
      if (llvm::Error error = writeOperation(&op))
        return error;
    if (llvm::Error error = writeInterface())
      return error;
    return finish();
  }

private:
  static bool isInitializer(Operation *op) {
    return isa<onnx::WeightOp>(op) || (isa<onnx::ConstantOp>(op) && !op->hasAttr("onnx.node"));
  }
  /// The name that the import kept for a result; empty when there is none.
  static StringRef keptName(OpResult result) {
    if (auto weight = dyn_cast<onnx::WeightOp>(result.getOwner()))
      return weight.getName();
    auto names = result.getOwner()->getAttrOfType<ArrayAttr>("onnx.outputs");
    if (!names || result.getResultNumber() >= names.size())
      return "";
    auto name = dyn_cast<StringAttr>(names[result.getResultNumber()]);
    return name ? name.getValue() : "";
  }

  /// The program's inputs and outputs come first: their names are its interface.
  void nameValues() {
    mlir::Block &body = main.getBody().front();
    for (BlockArgument argument : body.getArguments()) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "onnx.name");
      names[argument] = valueNames.make(name ? name.getValue() : "input");
    }
    for (OpOperand &use : body.getTerminator()->getOpOperands()) {
      auto attr = main.getResultAttrOfType<StringAttr>(use.getOperandNumber(), "onnx.name");
      StringRef wanted = attr ? attr.getValue() : "output";
      Value value = use.get();
      Operation *op = value.getDefiningOp();
      // A value has one name, and an input or initializer is not an output by itself.
      if (op && !isInitializer(op) && !names.contains(value)) {
        names[value] = valueNames.make(wanted);
        outputs.push_back(names[value]);
      } else {
        outputs.push_back(valueNames.make(wanted));
        copies.push_back({value, outputs.back()});
      }
    }
    for (Operation &op : body.without_terminator())
      nameResults(&op);
  }

  void nameResults(Operation *op) {
    for (OpResult result : op->getResults()) {
      if (names.contains(result))
        continue;
      StringRef kept = keptName(result);
      if (kept.empty() && result.use_empty() && result.getResultNumber())
        continue; // an optional output that nobody asks for
      names[result] = valueNames.make(kept.empty() ? op->getName().stripDialect() : kept);
    }
  }

  llvm::Error writeOperation(Operation *op) {
    if (auto weight = dyn_cast<onnx::WeightOp>(op)) {
      reader::DataRef data;
      data.file = weight.getFile();
      data.offset = weight.getOffset();
      data.length = weight.getLength();
      WireWriter tensor = tensorHeader(cast<RankedTensorType>(weight.getOutput().getType()), names[op->getResult(0)]);
      ArrayRef<char> bytes = files.bytes(data);
      tensor.reference(9, {bytes.data(), bytes.size()});
      graph.message(5, tensor);
      return llvm::Error::success();
    }
    auto interface = dyn_cast<onnx::OnnxOpInterface>(op);
    if (!interface)
      return failure("operation '" + op->getName().getStringRef() + "' is no ONNX operator and cannot be written");
    if (isInitializer(op)) {
      llvm::Expected<WireWriter> tensor = constant(op->getAttr("value"), names[op->getResult(0)]);
      if (!tensor)
        return tensor.takeError();
      graph.message(5, *tensor);
      return llvm::Error::success();
    }
    return writeNode(op, interface.fields());
  }

  llvm::Error writeNode(Operation *op, ArrayRef<onnx::Field> fields) {
    WireWriter node;
    SmallVector<std::string> list = inputs(op, fields);
    for (const std::string &input : list)
      node.bytes(1, input);
    list.clear();
    for (OpResult result : op->getResults())
      list.push_back(names.lookup(result));
    // Absent ones at the end need no place, unless the model gave them one: Split's outputs count.
    auto kept = op->getAttrOfType<ArrayAttr>("onnx.outputs");
    while (!list.empty() && list.back().empty() && (!kept || list.size() > kept.size()))
      list.pop_back();
    for (const std::string &output : list)
      node.bytes(2, output);
    std::string name;
    if (auto attr = op->getAttrOfType<StringAttr>("onnx.node"); attr && !attr.empty())
      node.bytes(3, name = nodeNames.make(attr.getValue()));
    StringRef type = op->getName().stripDialect();
    bool microsoft = type.consume_front("ms.");
    node.bytes(4, type);
    SmallVector<StringRef> written;
    for (const onnx::Field &field : fields) {
      if (field.isOperand())
        continue;
      Attribute value = op->getAttr(field.name);
      if (!value || value == defaultOf(op->getName(), field.name))
        continue;
      llvm::Expected<WireWriter> attribute = this->attribute(field, value);
      if (!attribute)
        return attribute.takeError();
      node.message(5, *attribute);
      written.push_back(field.name);
    }
    if (microsoft) {
      node.bytes(7, "com.microsoft");
      usesMicrosoft = true;
    } else {
      int64_t needed = requiredOpset(op, written);
      if (needed > kHighestOpset)
        return failure("node " + reader::quoted(name) + " (" + type + ") needs opset " + Twine(needed) +
                       " for its element types; models are written in at most " + Twine(kHighestOpset));
      opset = std::max(opset, needed);
    }
    graph.message(1, node);
    return llvm::Error::success();
  }

  /// Names in the order of the standard, "" for absent ones between others.
  SmallVector<std::string> inputs(Operation *op, ArrayRef<onnx::Field> fields) {
    auto segments = op->getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes");
    size_t required = llvm::count_if(fields, [](const onnx::Field &field) { return field.kind == 'x'; });
    SmallVector<std::string> result;
    unsigned next = 0, segment = 0;
    for (const onnx::Field &field : fields) {
      if (!field.isOperand())
        continue;
      // Without segments at most one operand group is optional or variadic and has what the others leave.
      size_t count = segments ? segments[segment] : field.kind == 'x' ? 1 : op->getNumOperands() - required;
      ++segment;
      for (size_t i = 0; i < count; ++i)
        result.push_back(names.lookup(op->getOperand(next++)));
      if (!count && field.kind != 'v')
        result.emplace_back();
    }
    while (!result.empty() && result.back().empty())
      result.pop_back();
    return result;
  }

  /// What an operation has when the attribute is not given; null when it has none.
  Attribute defaultOf(OperationName name, StringRef attribute) {
    auto [at, inserted] = defaults.try_emplace(name.getAsOpaquePointer());
    if (inserted) {
      Operation *op = Operation::create(OperationState(UnknownLoc::get(module.getContext()), name));
      at->second = op->getAttrDictionary();
      op->destroy();
    }
    return at->second.get(attribute);
  }

  llvm::Expected<WireWriter> attribute(const onnx::Field &field, Attribute value) {
    using T = reader::AttributeType;
    WireWriter proto;
    proto.bytes(1, field.name);
    T type = T::Int;
    switch (field.kind) {
    case 'i':
      proto.varint(3, cast<IntegerAttr>(value).getInt());
      break;
    case 'f':
      type = T::Float;
      proto.fixed32(2, cast<FloatAttr>(value).getValueAsDouble());
      break;
    case 's':
      type = T::String;
      proto.bytes(4, cast<StringAttr>(value).getValue());
      break;
    case 'I':
      type = T::Ints;
      for (int64_t number : cast<DenseI64ArrayAttr>(value).asArrayRef())
        proto.varint(8, number);
      break;
    case 'F':
      type = T::Floats;
      for (float number : cast<DenseF32ArrayAttr>(value).asArrayRef())
        proto.fixed32(7, number);
      break;
    default: {
      type = T::Tensor;
      llvm::Expected<WireWriter> tensor = constant(value, "");
      if (!tensor)
        return tensor.takeError();
      proto.message(5, *tensor);
    }
    }
    proto.varint(20, static_cast<uint64_t>(type));
    return proto;
  }

  static WireWriter tensorHeader(RankedTensorType type, StringRef name) {
    WireWriter tensor;
    for (int64_t extent : type.getShape())
      tensor.varint(1, extent);
    tensor.varint(2, static_cast<uint64_t>(dataType(type.getElementType())));
    if (!name.empty())
      tensor.bytes(8, name);
    return tensor;
  }

  static llvm::Expected<WireWriter> constant(Attribute attribute, StringRef name) {
    auto value = dyn_cast_or_null<DenseElementsAttr>(attribute);
    if (!value)
      return failure("constant " + reader::quoted(name) + " has no dense value and cannot be written");
    WireWriter tensor = tensorHeader(cast<RankedTensorType>(value.getType()), name);
    std::string bytes;
    // Bools have a byte each in ONNX, whatever they have here.
    if (value.getElementType().isInteger(1)) {
      for (bool bit : value.getValues<bool>())
        bytes += static_cast<char>(bit);
    } else {
      StringRef raw(value.getRawData().data(), value.getRawData().size());
      for (int64_t i = 0, n = value.isSplat() ? value.getNumElements() : 1; i < n; ++i)
        bytes += raw;
    }
    tensor.bytes(9, bytes);
    return tensor;
  }

  llvm::Error writeInterface() {
    for (auto &[value, name] : copies) {
      WireWriter node;
      node.bytes(1, names[value]);
      node.bytes(2, name);
      node.bytes(4, "Identity");
      graph.message(1, node);
    }
    for (auto [i, type] : llvm::enumerate(main.getArgumentTypes()))
      if (llvm::Error error = writeValue(11, names[main.getArgument(i)], type, main.getArgAttr(i, "onnx.dims")))
        return error;
    for (auto [i, type] : llvm::enumerate(main.getResultTypes()))
      if (llvm::Error error = writeValue(12, outputs[i], type, main.getResultAttr(i, "onnx.dims")))
        return error;
    return llvm::Error::success();
  }

  llvm::Error writeValue(uint32_t field, StringRef name, Type type, Attribute dims) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || dataType(tensor.getElementType()) == reader::DataType::Undefined)
      return failure("value " + reader::quoted(name) + " has a type that ONNX does not have");
    auto symbols = dyn_cast_or_null<ArrayAttr>(dims);
    WireWriter shape;
    for (auto [i, extent] : llvm::enumerate(tensor.getShape())) {
      WireWriter dim;
      auto symbol = symbols && i < symbols.size() ? dyn_cast<StringAttr>(symbols[i]) : StringAttr();
      if (!ShapedType::isDynamic(extent))
        dim.varint(1, extent);
      else if (symbol && !symbol.empty())
        dim.bytes(2, symbol);
      shape.message(1, dim);
    }
    WireWriter tensorType, typeProto, value;
    tensorType.varint(1, static_cast<uint64_t>(dataType(tensor.getElementType())));
    tensorType.message(2, shape);
    typeProto.message(1, tensorType);
    value.bytes(1, name);
    value.message(2, typeProto);
    graph.message(field, value);
    return llvm::Error::success();
  }

  llvm::Expected<WireWriter> finish() {
    WireWriter model;
    model.varint(1, irVersion(opset));
    model.bytes(2, "farskip");
    model.message(7, graph);
    auto import = [&](StringRef domain, int64_t version) {
      WireWriter opsetId;
      opsetId.bytes(1, domain);
      opsetId.varint(2, version);
      model.message(8, opsetId);
    };
    import("", opset);
    if (usesMicrosoft)
      import("com.microsoft", 1);
    NamedAttrList metadata(module->getAttrOfType<DictionaryAttr>("onnx.metadata"));
    for (StringRef key : {"farskip.layers", "farskip.part"})
      if (Attribute value = module->getAttr(key))
        metadata.set(key, value);
    for (NamedAttribute entry : metadata)
      if (auto value = dyn_cast<StringAttr>(entry.getValue())) {
        WireWriter property;
        property.bytes(1, entry.getName());
        property.bytes(2, value.getValue());
        model.message(14, property);
      }
    if (model.size() >= kMaxBytes)
      return failure("the model takes " + Twine(model.size()) +
                     " bytes as ONNX; --emit=onnx writes one file of less than 2 GiB, without external data");
    return model;
  }

  ModuleOp module;
  const reader::ModelFiles &files;
  func::FuncOp main;
  WireWriter graph;
  UniqueNames valueNames, nodeNames;
  llvm::DenseMap<Value, std::string> names;
  SmallVector<std::string> outputs;                      ///< names of the results of `main`
  SmallVector<std::pair<Value, std::string>> copies;     ///< outputs that need an Identity
  llvm::DenseMap<const void *, DictionaryAttr> defaults; ///< by operator
  int64_t opset = kLowestOpset;
  bool usesMicrosoft = false;
};

} // namespace

llvm::Expected<WireWriter> exportModel(ModuleOp module, const reader::ModelFiles &files) {
  return Exporter(module, files).run();
}

} // namespace farskip
