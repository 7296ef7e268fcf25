// Versions, opset imports, declared values and attribute sets.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Check.h"

#include "llvm/ADT/CachedHashString.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace farskip::onnx::reader {

std::string describe(const Node &node) {
  std::string op = node.domain.empty() ? escaped(node.opType) : escaped(node.domain) + "." + escaped(node.opType);
  if (node.name.empty() && !node.outputs.empty())
    return "node that makes " + quoted(node.outputs[0]) + " (" + op + ")";
  return "node " + quoted(node.name) + " (" + op + ")";
}

namespace {

using NameSet = DenseSet<CachedHashStringRef>;

class Checker {
public:
  Checker(Model &model, DiagnosticSink sink) : model(model), sink(sink) {}
  Error run();

private:
  using Imports = StringMap<int64_t>;
  Error checkImports(ArrayRef<OpsetImport> list, Imports &imports);
  Error checkFunction(Function &function);
  Error checkGraph(Graph &graph, const Imports &imports, const Function *function);
  Error checkNode(Node &node, const Imports &imports, const Function *function);
  Error checkInitializers(Graph &graph);
  Error checkInterface();
  Error bindDefaults();

  Model &model;
  DiagnosticSink sink;
  StringSet<> functionDomains;
};

Error Checker::checkImports(ArrayRef<OpsetImport> list, Imports &imports) {
  for (const OpsetImport &import : list) {
    auto [known, isNew] = imports.try_emplace(import.domain, import.version);
    if (!isNew && known->second != import.version)
      return failure("opset import of domain " + quoted(import.domain) + " has two versions, " + Twine(known->second) +
                     " and " + Twine(import.version));
    if (import.domain.empty() && (import.version < 1 || import.version > maxOpset))
      return failure("opset " + Twine(import.version) + " of the default domain is not supported; supported: " +
                     Twine(minOpset) + " to " + Twine(maxOpset));
    if (import.domain == microsoftDomain && import.version != microsoftOpset)
      return failure("opset " + Twine(import.version) + " of com.microsoft is not supported; supported: 1");
    if (import.version < 0 || import.version > INT32_MAX)
      return failure("opset " + Twine(import.version) + " of domain " + quoted(import.domain) + " is out of range");
  }
  return Error::success();
}

Error Checker::checkNode(Node &node, const Imports &imports, const Function *function) {
  auto import = imports.find(node.domain);
  if (import != imports.end()) {
    node.opset = static_cast<uint32_t>(import->second);
  } else if (!functionDomains.contains(node.domain)) {
    if (function || node.domain.empty())
      return failure(describe(node) + ": its domain " + quoted(node.domain) + " has no opset import" +
                     (function ? " in the function" : ""));
    // ONNX Runtime takes such models; there is one version only.
    node.opset = node.domain == microsoftDomain ? microsoftOpset : 0;
  }
  StringSet<> seen;
  for (const Attribute &attribute : node.attributes) {
    bool twice =
        node.attributes.size() < 8 ? node.attribute(attribute.name) != &attribute : !seen.insert(attribute.name).second;
    if (twice)
      return failure(describe(node) + ": attribute " + quoted(attribute.name) + " is there twice");
    if (!attribute.reference.empty() && !function)
      return failure(describe(node) + ": attribute " + quoted(attribute.name) + " refers to " +
                     quoted(attribute.reference) + ", but only a function's nodes may have ref_attr_name");
    if (attribute.graph)
      if (Error error = checkGraph(*attribute.graph, imports, function))
        return error;
  }
  return Error::success();
}

Error Checker::checkInitializers(Graph &graph) {
  NameSet names;
  for (const Tensor &tensor : graph.initializers) {
    if (tensor.name.empty())
      return failure("an initializer has no name");
    if (!names.insert(CachedHashStringRef(tensor.name)).second)
      return failure("initializer " + quoted(tensor.name) + " is there twice");
  }
  return Error::success();
}

Error Checker::checkGraph(Graph &graph, const Imports &imports, const Function *function) {
  if (Error error = checkInitializers(graph))
    return error;
  for (Node &node : graph.nodes)
    if (Error error = checkNode(node, imports, function))
      return error;
  return Error::success();
}

Error Checker::checkFunction(Function &function) {
  auto wrong = [&](const Twine &what) { return failure("function " + quoted(function.name) + ": " + what); };
  if (function.name.empty())
    return failure("a function has no name");
  Imports imports;
  if (Error error = checkImports(function.opsetImports, imports))
    return wrong(toString(std::move(error)));
  StringSet<> names;
  auto unique = [&](StringRef name) { return !name.empty() && names.insert(name).second; };
  for (StringRef input : function.inputs)
    if (!unique(input))
      return wrong("input " + quoted(input) + " has no name or is there twice");
  names.clear();
  for (StringRef attribute : function.attributes)
    if (!unique(attribute))
      return wrong("attribute " + quoted(attribute) + " has no name or is there twice");
  for (const Attribute &attribute : function.attributeDefaults) {
    if (!unique(attribute.name))
      return wrong("attribute " + quoted(attribute.name) + " is there twice");
    if (!attribute.reference.empty() || attribute.graph)
      return wrong("the default of attribute " + quoted(attribute.name) + " is a reference or a graph");
  }
  if (Error error = checkGraph(function.body, imports, &function))
    return wrong(toString(std::move(error)));
  return Error::success();
}

Error Checker::checkInterface() {
  NameSet names;
  for (const ValueInfo &input : model.graph.inputs) {
    if (input.name.empty())
      return failure("a graph input has no name");
    if (!names.insert(CachedHashStringRef(input.name)).second)
      return failure("graph input " + quoted(input.name) + " is there twice");
    if (input.type.kind == Type::None)
      return failure("graph input " + quoted(input.name) + " has no type");
    if (input.type.kind == Type::Tensor && input.type.elementType == DataType::Undefined)
      return failure("graph input " + quoted(input.name) + " has no elem_type");
  }
  for (const ValueInfo &output : model.graph.outputs)
    if (output.name.empty())
      return failure("a graph output has no name");
  return Error::success();
}

/// True when a tensor of these dims is a value of `type`.
static bool matches(const Tensor &tensor, const Type &type) {
  if (type.kind != Type::Tensor || type.elementType != tensor.type)
    return false;
  if (!type.hasShape)
    return true;
  if (type.dims.size() != tensor.dims.size())
    return false;
  for (auto [declared, actual] : zip(type.dims, tensor.dims))
    if (declared.kind == Dim::Size && declared.size != actual)
      return false;
  return true;
}

Error Checker::bindDefaults() {
  Graph &graph = model.graph;
  DenseMap<CachedHashStringRef, const Tensor *> initializers;
  for (const Tensor &tensor : graph.initializers)
    initializers[CachedHashStringRef(tensor.name)] = &tensor;
  StringRef first;
  size_t bound = 0;
  for (const ValueInfo &input : graph.inputs) {
    const Tensor *tensor = initializers.lookup(CachedHashStringRef(input.name));
    if (!tensor)
      continue;
    if (!matches(*tensor, input.type))
      return failure("graph input " + quoted(input.name) + ": its initializer (" + name(tensor->type) +
                     ") does not have the type and dims that the input declares");
    if (bound++ == 0)
      first = input.name;
  }
  if (!bound)
    return Error::success();
  erase_if(graph.inputs,
           [&](const ValueInfo &input) { return initializers.contains(CachedHashStringRef(input.name)); });
  if (model.irVersion >= 4)
    sink({Severity::Warning, Twine(bound).str() +
                                 " graph input(s) with an initializer are compiled as constants and "
                                 "cannot be overridden, first: " +
                                 quoted(first)});
  return Error::success();
}

Error Checker::run() {
  if (model.irVersion < minIrVersion || model.irVersion > maxIrVersion)
    return failure("ir_version " + Twine(model.irVersion) + " is not supported; supported: " + Twine(minIrVersion) +
                   " to " + Twine(maxIrVersion));
  if (model.opsetImports.empty())
    return failure("the model has no opset import");
  Imports imports;
  if (Error error = checkImports(model.opsetImports, imports))
    return error;
  if (model.hasTrainingInfo)
    sink({Severity::Warning, "training_info is ignored"});
  for (const Function &function : model.functions)
    functionDomains.insert(function.domain);
  if (Error error = checkInterface())
    return error;
  if (Error error = checkGraph(model.graph, imports, nullptr))
    return error;
  for (Function &function : model.functions)
    if (Error error = checkFunction(function))
      return error;
  return bindDefaults();
}

} // namespace

Error checkModel(Model &model, DiagnosticSink sink) { return Checker(model, sink).run(); }

} // namespace farskip::onnx::reader
