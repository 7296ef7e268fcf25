// Expansion of function calls.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Inline.h"

#include "compiler/Import/CallGraph.h"
#include "compiler/Import/Check.h"
#include "compiler/Import/Sort.h"
#include "llvm/ADT/DenseMap.h"

using namespace llvm;

namespace farskip::onnx::reader {

namespace {

/// One call being expanded: what the names and attribute references of the body mean.
struct Instance {
  Instance(const Function &function, ArrayRef<Attribute> given, StringRef label)
      : function(function), given(given), label(label) {}

  const Function &function;
  ArrayRef<Attribute> given;
  StringRef label; ///< prefix of node names
  DenseMap<CachedHashStringRef, StringRef> values;
};

uint64_t nameBytes(ArrayRef<StringRef> names) {
  uint64_t bytes = 0;
  for (StringRef name : names)
    bytes += name.size();
  return bytes;
}

class Inliner {
public:
  Inliner(Model &model, FreshNames &names, const ImportOptions &options)
      : model(model), names(names), options(options) {}
  Error run();

private:
  // Recursion below is bounded: calls by maxFunctionDepth (checkCalls), graphs by maxGraphNesting.
  Error expand(Graph &graph, Instance *instance, unsigned nesting);
  Error expandInto(ArrayRef<Node> nodes, Instance *instance, unsigned nesting, std::vector<Node> &out);
  Error inlineCall(const Node &call, Function &callee, unsigned nesting, std::vector<Node> &out);
  Error instantiate(Node &node, Instance &instance);
  Error resolve(Attribute &attribute, const Instance &instance) const;
  Error checkCall(const Node &call, const Function &callee) const;
  Error cloneGraph(Attribute &attribute, Instance *instance);
  void define(StringRef name, Instance &instance);
  Error emit(const Node &node, std::vector<Node> &out);
  Error charge(uint64_t bytes);
  Error tooManyNodes() const;
  StringRef childName(StringRef label, const Node &node);

  Model &model;
  FreshNames &names;
  const ImportOptions &options;
  FunctionTable table;
  uint64_t nodeCount = 0;
  bool overBudget = false; ///< told by the next charge()
};

Error Inliner::charge(uint64_t bytes) {
  if (!overBudget && model.arena->charge(bytes))
    return Error::success();
  return failure("the inlined model needs more memory than the limit of " + Twine(model.arena->limit()) + " bytes");
}

Error Inliner::tooManyNodes() const {
  return failure("the model has more nodes than the limit of " + Twine(options.maxNodes) +
                 " once its functions are inlined");
}

Error Inliner::emit(const Node &node, std::vector<Node> &out) {
  if (nodeCount++ >= options.maxNodes)
    return tooManyNodes();
  if (Error error = charge(sizeof(Node)))
    return error;
  out.push_back(node);
  return Error::success();
}

StringRef Inliner::childName(StringRef label, const Node &node) {
  constexpr size_t limit = 120; // calls nest, names must not grow with them
  std::string name = (label + "/" + (node.name.empty() ? node.opType : node.name)).str();
  bool unique = !node.name.empty() && name.size() <= limit;
  return unique ? model.arena->save(name) : names.make(name);
}

void Inliner::define(StringRef name, Instance &instance) {
  constexpr uint64_t nameCost = 160; // the name itself and its table entries
  if (name.empty() || overBudget)
    return;
  overBudget = !model.arena->charge(nameCost);
  instance.values[CachedHashStringRef(name)] = names.make(name);
}

/// The value of a reference: from the call, else the function's default.
Error Inliner::resolve(Attribute &attribute, const Instance &instance) const {
  const Attribute *value = nullptr;
  for (ArrayRef<Attribute> source : {instance.given, ArrayRef<Attribute>(instance.function.attributeDefaults)})
    for (const Attribute &candidate : source)
      if (!value && candidate.name == attribute.reference)
        value = &candidate;
  if (!value)
    return failure("attribute " + quoted(attribute.name) + " refers to " + quoted(attribute.reference) +
                   ", which the call does not give and which has no default");
  AttributeType wanted = attribute.type == AttributeType::SparseTensor ? AttributeType::Tensor : attribute.type;
  if (wanted != AttributeType::Undefined && wanted != value->type)
    return failure("attribute " + quoted(attribute.name) + " is declared " + name(attribute.type) + ", but " +
                   quoted(attribute.reference) + " is " + name(value->type));
  StringRef own = attribute.name;
  attribute = *value;
  attribute.name = own;
  return Error::success();
}

/// Gives the attribute a copy of its graph, its own definitions renamed when it is part of a function's body.
Error Inliner::cloneGraph(Attribute &attribute, Instance *instance) {
  const Graph &from = *attribute.graph;
  if (Error error =
          charge(sizeof(Graph) + from.nodes.size() * sizeof(Node) + from.initializers.size() * sizeof(Tensor) +
                 (from.inputs.size() + from.outputs.size()) * sizeof(ValueInfo)))
    return error;
  Graph &to = model.nested.emplace_back(from);
  attribute.graph = &to;
  if (instance) {
    // Symbols of a function are not those of the model, and types of inner values are inferred again.
    to.valueInfos.clear();
    for (std::vector<ValueInfo> *list : {&to.inputs, &to.outputs})
      for (ValueInfo &info : *list)
        info.type.hasShape =
            info.type.hasShape && all_of(info.type.dims, [](const Dim &dim) { return dim.kind == Dim::Size; });
    return Error::success();
  }
  nodeCount += to.nodes.size();
  if (nodeCount > options.maxNodes)
    return tooManyNodes();
  for (Node &node : to.nodes) {
    if (Error error = charge(node.attributes.size() * sizeof(Attribute)))
      return error;
    node.attributes = model.arena->copy(ArrayRef<Attribute>(node.attributes));
    for (Attribute &inner : node.attributes)
      if (inner.graph)
        if (Error error = cloneGraph(inner, nullptr))
          return error;
  }
  return Error::success();
}

/// Makes a node of the body one of the caller: names, attribute references, own copies of arrays.
Error Inliner::instantiate(Node &node, Instance &instance) {
  // Names are hashed anew for each copy of a body, so their length is work, if not memory.
  if (Error error = charge((node.inputs.size() + node.outputs.size()) * sizeof(StringRef) +
                           node.attributes.size() * sizeof(Attribute) + nameBytes(node.inputs) +
                           nameBytes(node.outputs) + node.opType.size() + node.domain.size() + 128))
    return error;
  auto renamed = [&](ArrayRef<StringRef> list) {
    MutableArrayRef<StringRef> out = model.arena->copy(list);
    for (StringRef &name : out)
      if (!name.empty())
        name = instance.values.lookup(CachedHashStringRef(name));
    return out;
  };
  node.inputs = renamed(node.inputs);
  node.outputs = renamed(node.outputs);
  node.attributes = model.arena->copy(ArrayRef<Attribute>(node.attributes));
  for (Attribute &attribute : node.attributes) {
    bool reference = !attribute.reference.empty();
    if (reference)
      if (Error error = resolve(attribute, instance))
        return failure(describe(node) + ": " + toString(std::move(error)));
    // A graph given by the caller means the caller's names.
    if (attribute.graph)
      if (Error error = cloneGraph(attribute, reference ? nullptr : &instance))
        return error;
  }
  node.name = childName(instance.label, node);
  return Error::success();
}

Error Inliner::checkCall(const Node &call, const Function &callee) const {
  auto wrong = [&](const Twine &what) {
    return failure(describe(call) + ": the call of function " + quoted(callee.name) + " " + what);
  };
  if (call.inputs.size() > callee.inputs.size())
    return wrong("has " + Twine(call.inputs.size()) + " inputs; the function has " + Twine(callee.inputs.size()));
  if (call.outputs.size() > callee.outputs.size())
    return wrong("has " + Twine(call.outputs.size()) + " outputs; the function has " + Twine(callee.outputs.size()));
  for (const Attribute &attribute : call.attributes) {
    bool declared = is_contained(callee.attributes, attribute.name) ||
                    any_of(callee.attributeDefaults, [&](const Attribute &a) { return a.name == attribute.name; });
    if (!declared)
      return wrong("has the attribute " + quoted(attribute.name) + ", which the function does not declare");
  }
  return Error::success();
}

Error Inliner::inlineCall(const Node &call, Function &callee, unsigned nesting, std::vector<Node> &out) {
  if (Error error = checkCall(call, callee))
    return error;
  if (Error error = charge((callee.inputs.size() + callee.outputs.size()) * sizeof(std::pair<StringRef, StringRef>) +
                           nameBytes(callee.inputs) + nameBytes(callee.outputs)))
    return error;
  Instance instance(callee, call.attributes, call.name.empty() ? names.make(callee.name) : call.name);
  for (auto [index, formal] : enumerate(callee.inputs))
    instance.values[CachedHashStringRef(formal)] = index < call.inputs.size() ? call.inputs[index] : StringRef();
  // A result that is an input, or the same value as another result, needs a node of its own.
  SmallVector<std::pair<StringRef, StringRef>> copies;
  for (auto [index, actual] : enumerate(call.outputs)) {
    if (actual.empty())
      continue;
    StringRef formal = callee.outputs[index];
    if (!instance.values.try_emplace(CachedHashStringRef(formal), actual).second)
      copies.push_back({formal, actual});
  }
  for (const Node &node : callee.body.nodes)
    for (StringRef output : node.outputs)
      if (!instance.values.contains(CachedHashStringRef(output)))
        define(output, instance);
  if (Error error = expandInto(callee.body.nodes, &instance, nesting, out))
    return error;
  for (auto [formal, actual] : copies) {
    StringRef from = instance.values.lookup(CachedHashStringRef(formal));
    if (from.empty())
      return failure(describe(call) + ": its output " + quoted(actual) + " is input " + quoted(formal) +
                     " of function " + quoted(callee.name) + ", which the call does not give");
    Node identity;
    identity.name = names.make(instance.label);
    identity.opType = "Identity";
    identity.opset = maxOpset;
    identity.inputs = model.arena->copy(ArrayRef<StringRef>(from));
    identity.outputs = model.arena->copy(ArrayRef<StringRef>(actual));
    if (Error error = emit(identity, out))
      return error;
  }
  return Error::success();
}

Error Inliner::expandInto(ArrayRef<Node> nodes, Instance *instance, unsigned nesting, std::vector<Node> &out) {
  for (const Node &original : nodes) {
    Node node = original;
    if (instance)
      if (Error error = instantiate(node, *instance)) {
        std::string message = toString(std::move(error));
        if (StringRef(message).starts_with("function "))
          return failure(message);
        return failure("function " + quoted(instance->function.name) + ": " + message);
      }
    for (auto [attribute, declared] : zip(node.attributes, original.attributes)) {
      if (!attribute.graph)
        continue;
      // What a caller gave has been expanded where the caller was.
      bool given = instance && !declared.reference.empty();
      if (given)
        continue;
      if (Error error = expand(*attribute.graph, instance, nesting + 1))
        return error;
    }
    Function *callee = table.find(node);
    if (Error error = callee ? inlineCall(node, *callee, nesting, out) : emit(node, out))
      return error;
  }
  return Error::success();
}

Error Inliner::expand(Graph &graph, Instance *instance, unsigned nesting) {
  if (nesting > options.maxGraphNesting)
    return failure("graphs are nested deeper than the limit of " + Twine(options.maxGraphNesting) +
                   " once functions are inlined");
  std::vector<std::pair<CachedHashStringRef, std::optional<StringRef>>> hidden;
  auto rename = [&](StringRef &name) {
    if (name.empty())
      return;
    CachedHashStringRef key(name);
    auto at = instance->values.find(key);
    hidden.push_back({key, at == instance->values.end() ? std::nullopt : std::optional(at->second)});
    define(name, *instance);
    name = instance->values.lookup(key);
  };
  if (instance) {
    for (ValueInfo &input : graph.inputs)
      rename(input.name);
    for (Tensor &tensor : graph.initializers)
      rename(tensor.name);
    for (const Node &node : graph.nodes)
      for (StringRef output : node.outputs)
        rename(output); // a copy: instantiate() renames the node itself
    for (ValueInfo &output : graph.outputs)
      output.name = instance->values.lookup(CachedHashStringRef(output.name));
  }
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  graph.nodes.reserve(nodes.size());
  if (Error error = expandInto(nodes, instance, nesting, graph.nodes))
    return error;
  for (auto &[key, value] : reverse(hidden)) {
    if (value)
      instance->values[key] = *value;
    else
      instance->values.erase(key);
  }
  return Error::success();
}

/// Nesting of graphs within one node, itself not counted.
static unsigned nestingOf(const Graph &graph) {
  unsigned deepest = 0;
  for (const Node &node : graph.nodes)
    for (const Attribute &attribute : node.attributes)
      if (attribute.graph)
        deepest = std::max(deepest, nestingOf(*attribute.graph));
  return deepest + 1;
}

Error Inliner::run() {
  if (model.functions.empty())
    return Error::success();
  if (Error error = table.build(model.functions))
    return error;
  if (Error error = checkCalls(model, table, options))
    return error;
  for (Function &function : model.functions)
    if (Error error = sortFunction(function))
      return error;
  names.prepare();
  if (Error error = expand(model.graph, nullptr, 1))
    return error;
  model.functions.clear();
  if (nestingOf(model.graph) > options.maxGraphNesting)
    return failure("graphs are nested deeper than the limit of " + Twine(options.maxGraphNesting) +
                   " once functions are inlined");
  return Error::success();
}

} // namespace

Error inlineFunctions(Model &model, FreshNames &names, const ImportOptions &options) {
  return Inliner(model, names, options).run();
}

} // namespace farskip::onnx::reader
