// If, Loop and Scan: the graphs in them have to fit the node.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Check.h"
#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/Rewriter.h"

using namespace llvm;

namespace farskip::onnx::reader {

static Expected<const Graph *> body(const Node &node, StringRef attribute) {
  const Attribute *found = node.attribute(attribute);
  if (!found || found->type != AttributeType::Graph)
    return failure(describe(node) + ": it has no graph " + quoted(attribute));
  return found->graph;
}

static Error expectCounts(const Node &node, StringRef attribute, const Graph &graph, size_t inputs, size_t outputs) {
  if (graph.inputs.size() != inputs)
    return failure(describe(node) + ": graph " + quoted(attribute) + " has " + Twine(graph.inputs.size()) +
                   " inputs; the node asks for " + Twine(inputs));
  if (graph.outputs.size() != outputs)
    return failure(describe(node) + ": graph " + quoted(attribute) + " has " + Twine(graph.outputs.size()) +
                   " outputs; the node asks for " + Twine(outputs));
  return Error::success();
}

static Expected<Outcome> checkIf(Node &node, Rewriter &rewriter) {
  for (StringRef branch : {"then_branch", "else_branch"}) {
    Expected<const Graph *> graph = body(node, branch);
    if (!graph)
      return graph.takeError();
    if (Error error = expectCounts(node, branch, **graph, 0, node.outputs.size()))
      return std::move(error);
  }
  return Outcome::Keep;
}

/// Inputs: trip count, condition, N carried values. The body takes the iteration, the condition and the N; it gives
/// the condition, the N, and scanned values. The node gives the N and the scanned values.
static Expected<Outcome> checkLoop(Node &node, Rewriter &rewriter) {
  Expected<const Graph *> graph = body(node, "body");
  if (!graph)
    return graph.takeError();
  size_t inputs = std::max<size_t>(node.inputs.size(), 2);
  if (Error error = expectCounts(node, "body", **graph, inputs, node.outputs.size() + 1))
    return std::move(error);
  if (node.outputs.size() < inputs - 2)
    return failure(describe(node) + ": it has " + Twine(node.outputs.size()) + " outputs and carries " +
                   Twine(inputs - 2) + " values; it has to give each of them");
  return Outcome::Keep;
}

static Expected<Outcome> checkScan(Node &node, Rewriter &rewriter) {
  if (node.opset < 9)
    return failure(describe(node) + ": Scan of opset 8, with a batch axis, is not supported; supported: 9 to 28");
  Expected<const Graph *> graph = body(node, "body");
  if (!graph)
    return graph.takeError();
  if (Error error = expectCounts(node, "body", **graph, node.inputs.size(), node.outputs.size()))
    return std::move(error);
  return Outcome::Keep;
}

ArrayRef<RuleRow> controlFlowRules() {
  static constexpr RuleRow rows[] = {
      {"If", always, checkIf},
      {"Loop", always, checkLoop},
      {"Scan", always, checkScan},
  };
  return rows;
}

} // namespace farskip::onnx::reader
