// Walks over the nodes and applies the rules that their versions ask for.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Upgrade.h"

#include "compiler/Import/Check.h"
#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/OperatorTable.h"
#include "compiler/Import/Rewriter.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace farskip::onnx::reader {

namespace {

using RuleMap = StringMap<SmallVector<const RuleRow *, 2>>;

RuleMap allRules() {
  RuleMap rules;
  for (ArrayRef<RuleRow> table :
       {constantRules(), shapeRules(), reductionRules(), elementwiseRules(), controlFlowRules()})
    for (const RuleRow &row : table)
      rules[row.op].push_back(&row);
  return rules;
}

class Upgrader {
public:
  Upgrader(Model &model, FreshNames &names) : model(model), names(names), facts(model), rules(allRules()) {}
  Error upgrade(Graph &graph);

private:
  Error checkVersion(const Node &node) const;
  Error upgradeNode(Node &node, Rewriter &rewriter);

  Model &model;
  FreshNames &names;
  ValueFacts facts;
  RuleMap rules;
};

/// The operator and each of its attributes have to exist in the opset that the model asks for.
Error Upgrader::checkVersion(const Node &node) const {
  ArrayRef<uint8_t> versions = operatorVersions(node.opType);
  if (versions.empty())
    return Error::success();
  if (versions.front() > node.opset)
    return failure(describe(node) + ": the operator exists from opset " +
                   Twine(static_cast<uint32_t>(versions.front())) + " on, it is used in opset " + Twine(node.opset));
  if (node.opset < minOpset && sinceVersion(node.opType, node.opset) != sinceVersion(node.opType, minOpset))
    return failure(describe(node) + ": the operator is used in opset " + Twine(node.opset) +
                   ", which has another form of it; supported: " + Twine(minOpset) + " to " + Twine(maxOpset));
  if (node.attributes.empty())
    return Error::success();
  for (const AttributeRow &row : laterAttributes(node.opType))
    if (row.since > node.opset && node.attribute(row.attribute))
      return failure(describe(node) + ": attribute " + quoted(row.attribute) + " exists from opset " +
                     Twine(row.since) + " on, it is used in opset " + Twine(node.opset));
  return Error::success();
}

Error Upgrader::upgradeNode(Node &node, Rewriter &rewriter) {
  if (node.domain.empty()) {
    if (Error error = checkVersion(node))
      return error;
    auto found = rules.find(node.opType);
    if (found != rules.end())
      for (const RuleRow *row : found->second) {
        if (node.opset >= row->below)
          continue;
        Expected<Outcome> outcome = row->rule(node, rewriter);
        if (!outcome)
          return outcome.takeError();
        if (*outcome == Outcome::Replaced)
          return Error::success();
      }
  }
  rewriter.emit(node);
  return Error::success();
}

Error Upgrader::upgrade(Graph &graph) {
  // Nested graphs are few, and at most maxGraphNesting deep.
  for (Node &node : graph.nodes)
    for (Attribute &attribute : node.attributes)
      if (attribute.graph)
        if (Error error = upgrade(*attribute.graph))
          return error;
  std::vector<Node> out;
  out.reserve(graph.nodes.size());
  Rewriter rewriter(model, graph, names, facts, out);
  for (Node &node : graph.nodes)
    if (Error error = upgradeNode(node, rewriter))
      return error;
  graph.nodes = std::move(out);
  return Error::success();
}

} // namespace

Error upgradeModel(Model &model, FreshNames &names) { return Upgrader(model, names).upgrade(model.graph); }

} // namespace farskip::onnx::reader
