// The call graph of model-local functions and the limits on it.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/CallGraph.h"

#include "compiler/Import/Diagnostics.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace farskip::onnx::reader {

static void signature(StringRef domain, StringRef name, StringRef overload, SmallVectorImpl<char> &key) {
  for (StringRef part : {domain, name, overload}) {
    key.append(part.begin(), part.end());
    key.push_back('\0');
  }
}

Error FunctionTable::build(std::vector<Function> &functions) {
  for (Function &function : functions) {
    SmallString<64> key;
    signature(function.domain, function.name, function.overload, key);
    if (!bySignature.try_emplace(key, &function).second)
      return failure("function " + quoted(function.name) + " of domain " + quoted(function.domain) + " is there twice");
  }
  return Error::success();
}

Function *FunctionTable::find(const Node &node) const {
  if (bySignature.empty())
    return nullptr;
  SmallString<64> key;
  signature(node.domain, node.opType, node.overload, key);
  return bySignature.lookup(key);
}

namespace {

/// What one graph or function body comes to.
struct Cost {
  uint64_t nodes = 0; ///< after inlining, saturating
  uint64_t calls = 0; ///< inlined on the way, saturating
  unsigned depth = 0; ///< of function calls
};

class CallChecker {
public:
  CallChecker(const FunctionTable &table, const ImportOptions &options) : table(table), options(options) {}
  Error check(const Model &model);

private:
  struct Body {
    SmallVector<const Function *, 0> callees; ///< one entry a call
    uint64_t nodes = 0;                       ///< that are no calls
  };
  void scan(const Graph &graph, Body &body) const;
  Error visit(const Function *root);
  Cost total(const Body &body) const;

  const FunctionTable &table;
  const ImportOptions &options;
  DenseMap<const Function *, Cost> known;
};

void CallChecker::scan(const Graph &graph, Body &body) const {
  for (const Node &node : graph.nodes) {
    if (const Function *callee = table.find(node))
      body.callees.push_back(callee);
    else
      ++body.nodes;
    for (const Attribute &attribute : node.attributes)
      if (attribute.graph)
        scan(*attribute.graph, body);
  }
}

Cost CallChecker::total(const Body &body) const {
  Cost cost{body.nodes, body.callees.size(), 0};
  for (const Function *callee : body.callees) {
    const Cost &inner = known.at(callee);
    cost.nodes = SaturatingAdd(cost.nodes, inner.nodes);
    cost.calls = SaturatingAdd(cost.calls, inner.calls);
    cost.depth = std::max(cost.depth, inner.depth);
  }
  return cost;
}

/// Depth-first, with a stack of its own, over what `root` calls.
Error CallChecker::visit(const Function *root) {
  struct Frame {
    const Function *function;
    Body body;
    size_t next = 0;
  };
  if (known.contains(root))
    return Error::success();
  std::vector<Frame> stack;
  DenseMap<const Function *, bool> open;
  auto push = [&](const Function *function) {
    stack.push_back({function, {}, 0});
    scan(function->body, stack.back().body);
    open[function] = true;
  };
  push(root);
  while (!stack.empty()) {
    Frame &frame = stack.back();
    if (frame.next == frame.body.callees.size()) {
      Cost cost = total(frame.body);
      if (++cost.depth > options.maxFunctionDepth)
        return failure("functions call functions deeper than the limit of " + Twine(options.maxFunctionDepth) +
                       ", at function " + quoted(frame.function->name));
      known[frame.function] = cost;
      open[frame.function] = false;
      stack.pop_back();
      continue;
    }
    const Function *callee = frame.body.callees[frame.next++];
    if (known.contains(callee))
      continue;
    if (open.lookup(callee)) {
      std::string cycle;
      size_t shown = 0;
      bool inCycle = false;
      for (const Frame &outer : stack) {
        inCycle |= outer.function == callee;
        if (inCycle && shown++ < 10)
          cycle += quoted(outer.function->name) + " -> ";
      }
      return failure("functions call themselves: " + cycle + (shown > 10 ? "... -> " : "") + quoted(callee->name));
    }
    push(callee);
  }
  return Error::success();
}

Error CallChecker::check(const Model &model) {
  for (const Function &function : model.functions)
    if (Error error = visit(&function))
      return error;
  Body main;
  scan(model.graph, main);
  Cost cost = total(main);
  if (cost.nodes > options.maxNodes || cost.calls > options.maxNodes)
    return failure("the model has " +
                   (cost.nodes > options.maxNodes ? Twine(cost.nodes) + " nodes" : Twine(cost.calls) + " calls").str() +
                   " once its functions are inlined, more than the limit of " + Twine(options.maxNodes));
  return Error::success();
}

} // namespace

Error checkCalls(const Model &model, const FunctionTable &table, const ImportOptions &options) {
  return CallChecker(table, options).check(model);
}

} // namespace farskip::onnx::reader
