// Who makes each name, and an order in which it is made before it is read.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Sort.h"

#include "compiler/Import/Check.h"
#include "llvm/ADT/CachedHashString.h"
#include "llvm/ADT/DenseMap.h"

using namespace llvm;

namespace farskip::onnx::reader {

namespace {

/// A name that a graph reads and does not define.
struct Capture {
  StringRef name;
  const Node *reader; ///< null when it is an output of the graph
};
using Captures = SmallVector<Capture, 0>;

/// The names one graph defines: the index of the node, or `given` for inputs and initializers.
struct Scope {
  static constexpr uint32_t given = UINT32_MAX;
  const Scope *outer = nullptr;
  DenseMap<CachedHashStringRef, uint32_t> makers;

  std::optional<uint32_t> find(StringRef name) const {
    auto at = makers.find(CachedHashStringRef(name));
    return at == makers.end() ? std::nullopt : std::optional(at->second);
  }
  bool visibleOutside(StringRef name) const {
    for (const Scope *scope = outer; scope; scope = scope->outer)
      if (scope->find(name))
        return true;
    return false;
  }
};

class Sorter {
public:
  Error sort(Graph &graph, ArrayRef<StringRef> given, const Scope *outer, Captures &captures);
  bool anyUnsorted = false;

private:
  Error define(const Graph &graph, ArrayRef<StringRef> given, Scope &scope);
  Error reorder(Graph &graph, const Scope &scope, const DenseMap<uint32_t, Captures> &nested);

  std::deque<std::vector<Node>> retired; // captures point to nodes as they were before their graph was reordered
};

Error Sorter::define(const Graph &graph, ArrayRef<StringRef> given, Scope &scope) {
  auto add = [&](StringRef name, uint32_t maker) {
    return scope.makers.try_emplace(CachedHashStringRef(name), maker).second;
  };
  scope.makers.reserve(graph.nodes.size() + graph.inputs.size() + graph.initializers.size());
  for (StringRef name : given)
    add(name, Scope::given);
  for (const ValueInfo &input : graph.inputs)
    if (input.name.empty() || !add(input.name, Scope::given))
      return failure("graph " + quoted(graph.name) + ": input " + quoted(input.name) +
                     " has no name or is there twice");
  for (const Tensor &tensor : graph.initializers)
    if (!add(tensor.name, Scope::given))
      return failure("initializer " + quoted(tensor.name) + " has the name of another value of its graph");
  for (auto [index, node] : enumerate(graph.nodes))
    for (StringRef output : node.outputs)
      if (!output.empty() && !add(output, static_cast<uint32_t>(index)))
        return failure(describe(node) + ": its output " + quoted(output) +
                       " is made twice, or is an input or initializer too");
  return Error::success();
}

Error Sorter::sort(Graph &graph, ArrayRef<StringRef> given, const Scope *outer, Captures &captures) {
  Scope scope;
  scope.outer = outer;
  if (Error error = define(graph, given, scope))
    return error;
  bool sorted = true;
  DenseMap<uint32_t, Captures> nested;
  for (uint32_t index = 0; index < graph.nodes.size(); ++index) {
    const Node &node = graph.nodes[index];
    auto read = [&](StringRef name, const Node &reader) -> Error {
      std::optional<uint32_t> maker = scope.find(name);
      if (!maker) {
        captures.push_back({name, &reader});
        return Error::success();
      }
      if (*maker == Scope::given || *maker < index)
        return Error::success();
      if (scope.visibleOutside(name))
        return failure(describe(reader) + ": it is not clear whether " + quoted(name) +
                       " is the value outside or the one that " + describe(graph.nodes[*maker]) + " makes later");
      sorted = false;
      return Error::success();
    };
    for (StringRef input : node.inputs)
      if (!input.empty())
        if (Error error = read(input, node))
          return error;
    for (const Attribute &attribute : node.attributes) {
      if (!attribute.graph)
        continue;
      Captures &inner = nested[index];
      size_t before = inner.size();
      if (Error error = sort(*attribute.graph, {}, &scope, inner)) {
        std::string message = toString(std::move(error));
        bool placed = StringRef(message).starts_with("in "); // the innermost node is enough
        return failure(placed ? message : "in " + describe(node) + ": " + message);
      }
      for (size_t i = before; i < inner.size(); ++i)
        if (Error error = read(inner[i].name, inner[i].reader ? *inner[i].reader : node))
          return error;
    }
  }
  for (const ValueInfo &output : graph.outputs) {
    if (output.name.empty())
      return failure("graph " + quoted(graph.name) + ": an output has no name");
    if (!scope.find(output.name))
      captures.push_back({output.name, nullptr});
  }
  if (sorted)
    return Error::success();
  anyUnsorted = true;
  return reorder(graph, scope, nested);
}

/// The nodes on `stack` from `first` on, as "'a' (Op) -> 'b' (Op) -> 'a'".
static std::string describeCycle(const Graph &graph, ArrayRef<std::pair<uint32_t, uint32_t>> stack, uint32_t first) {
  constexpr size_t shown = 10;
  while (stack.front().first != first)
    stack = stack.drop_front();
  std::string text;
  for (auto [node, edge] : stack.take_front(shown))
    text += describe(graph.nodes[node]) + " <- ";
  if (stack.size() > shown)
    text += "... (" + std::to_string(stack.size()) + " nodes) <- ";
  return text + describe(graph.nodes[first]);
}

Error Sorter::reorder(Graph &graph, const Scope &scope, const DenseMap<uint32_t, Captures> &nested) {
  // Edges to the makers, grouped by node.
  std::vector<uint32_t> begin(graph.nodes.size() + 1), makers;
  for (uint32_t index = 0; index < graph.nodes.size(); ++index) {
    begin[index] = static_cast<uint32_t>(makers.size());
    auto add = [&](StringRef name) {
      std::optional<uint32_t> maker = scope.find(name);
      if (maker && *maker != Scope::given)
        makers.push_back(*maker);
    };
    for (StringRef input : graph.nodes[index].inputs)
      if (!input.empty())
        add(input);
    auto inner = nested.find(index);
    if (inner != nested.end())
      for (const Capture &capture : inner->second)
        add(capture.name);
  }
  begin.back() = static_cast<uint32_t>(makers.size());

  enum : uint8_t { fresh, open, done };
  std::vector<uint8_t> state(graph.nodes.size(), fresh);
  std::vector<Node> ordered;
  ordered.reserve(graph.nodes.size());
  SmallVector<std::pair<uint32_t, uint32_t>, 0> stack; // node, next edge
  for (uint32_t root = 0; root < graph.nodes.size(); ++root) {
    if (state[root] != fresh)
      continue;
    state[root] = open;
    stack.push_back({root, begin[root]});
    while (!stack.empty()) {
      auto &[node, edge] = stack.back();
      if (edge == begin[node + 1]) {
        state[node] = done;
        ordered.push_back(graph.nodes[node]);
        stack.pop_back();
        continue;
      }
      uint32_t maker = makers[edge++];
      if (state[maker] == open)
        return failure("the graph has a cycle: " + describeCycle(graph, stack, maker));
      if (state[maker] == fresh) {
        state[maker] = open;
        stack.push_back({maker, begin[maker]});
      }
    }
  }
  retired.push_back(std::exchange(graph.nodes, std::move(ordered)));
  return Error::success();
}

/// The error for the first name that no graph defines.
Error undefined(const Captures &captures) {
  if (captures.empty())
    return Error::success();
  const Capture &first = captures.front();
  if (!first.reader)
    return failure("graph output " + quoted(first.name) + " is made by no node, input or initializer");
  return failure(describe(*first.reader) + ": it reads " + quoted(first.name) +
                 ", which no node, input or initializer makes");
}

} // namespace

Error sortModel(Model &model, DiagnosticSink sink) {
  Sorter sorter;
  Captures captures;
  if (Error error = sorter.sort(model.graph, {}, nullptr, captures))
    return error;
  if (Error error = undefined(captures))
    return error;
  if (sorter.anyUnsorted)
    sink({Severity::Warning, "the nodes are not in topological order; they are compiled in a sorted one"});
  return Error::success();
}

Error sortFunction(Function &function) {
  auto wrong = [&](Error error) {
    return failure("function " + quoted(function.name) + ": " + toString(std::move(error)));
  };
  Sorter sorter;
  Captures captures;
  // As declared outputs of the body, they are checked like those of a graph.
  for (StringRef output : function.outputs)
    function.body.outputs.push_back({output, {}});
  if (Error error = sorter.sort(function.body, function.inputs, nullptr, captures))
    return wrong(std::move(error));
  if (Error error = undefined(captures))
    return wrong(std::move(error));
  return Error::success();
}

} // namespace farskip::onnx::reader
