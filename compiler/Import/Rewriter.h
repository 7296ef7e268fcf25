// What an upgrade rule needs: the node's attributes, constants, ranks, and new nodes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/Names.h"
#include "compiler/Import/Proto.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace farskip::onnx::reader {

/// What the declarations of a model tell about its values, for rules that have a simpler result where they know it.
/// Declared types are checked against the inferred ones later on.
class ValueFacts {
public:
  explicit ValueFacts(Model &model) : model(model) {}
  /// The declared rank; nothing where it is unknown, or different in two graphs.
  std::optional<int64_t> rank(llvm::StringRef value);
  /// The value of an initializer or a Constant node with a tensor; null otherwise.
  const Tensor *constant(llvm::StringRef value);

private:
  void collect(const Graph &graph);
  struct Facts {
    std::optional<int64_t> rank;
    const Tensor *constant = nullptr;
    bool ambiguous = false; ///< a name that two graphs define
  };
  Facts *define(llvm::StringRef name);

  Model &model;
  llvm::DenseMap<llvm::CachedHashStringRef, Facts> facts;
  bool collected = false;
};

/// Rewrites one graph: nodes go to `out` in order.
class Rewriter {
public:
  Rewriter(Model &model, Graph &graph, FreshNames &names, ValueFacts &facts, std::vector<Node> &out)
      : facts(facts), model(model), graph(graph), names(names), out(out) {}

  ValueFacts &facts;

  /// Takes an attribute away from the node and returns it, null where it has none. Errors: another type.
  llvm::Expected<const Attribute *> take(Node &node, llvm::StringRef name, AttributeType type);
  void add(Node &node, Attribute attribute);
  void addInt(Node &node, llvm::StringRef name, int64_t value);

  /// A new initializer of the graph: int64 of dims [n], or a float or bool scalar. Returns its name.
  llvm::StringRef constantInts(llvm::ArrayRef<int64_t> values, llvm::StringRef base);

  /// Turns the list attribute `name` into the second input; false when the node does not have it.
  llvm::Expected<bool> intsToInput(Node &node, llvm::StringRef name);
  llvm::StringRef constantFloat(float value, llvm::StringRef base);
  llvm::StringRef constantTrue(llvm::StringRef base);

  /// Replaces the inputs or outputs of a node.
  void setInputs(Node &node, llvm::ArrayRef<llvm::StringRef> inputs);
  void setOutputs(Node &node, llvm::ArrayRef<llvm::StringRef> outputs);
  llvm::ArrayRef<char> bytes(const Tensor &tensor) const { return model.bytes(tensor); }

  /// Appends a new node before the one being rewritten, with one fresh output, whose name it returns. The
  /// node's name is that of `origin` with the operator behind it.
  llvm::StringRef create(llvm::StringRef op, llvm::ArrayRef<llvm::StringRef> inputs, const Node &origin,
                         llvm::ArrayRef<Attribute> attributes = {});
  /// The same with a given output.
  void create(llvm::StringRef op, llvm::ArrayRef<llvm::StringRef> inputs, llvm::StringRef output, const Node &origin,
              llvm::ArrayRef<Attribute> attributes = {});
  void emit(const Node &node) { out.push_back(node); }

  llvm::StringRef fresh(llvm::StringRef base) { return names.make(base); }
  Tensor *makeTensor(DataType type, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<char> bytes);
  Tensor *makeStrings(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<llvm::StringRef> values);

private:
  llvm::StringRef initializer(Tensor *tensor, llvm::StringRef base);

  Model &model;
  Graph &graph;
  FreshNames &names;
  std::vector<Node> &out;
};

/// An INT attribute.
Attribute intAttribute(llvm::StringRef name, int64_t value);

/// Refuses a node with another number of inputs than its old form has.
llvm::Error expectInputs(const Node &node, size_t count);

/// What a rule did with its node.
enum class Outcome {
  Keep,    ///< emit the (changed) node
  Replaced ///< the rule has emitted what stands for it
};
using Rule = llvm::Expected<Outcome> (*)(Node &, Rewriter &);

/// As RuleRow::below: the rule holds for every opset.
constexpr uint32_t always = UINT32_MAX;

/// A rule for nodes of `op` (default domain) whose opset is below `below`.
struct RuleRow {
  llvm::StringLiteral op;
  uint32_t below;
  Rule rule;
};

/// The tables of the rule files. Rules of one operator apply in the order of their rows.
llvm::ArrayRef<RuleRow> constantRules();
llvm::ArrayRef<RuleRow> shapeRules();
llvm::ArrayRef<RuleRow> reductionRules();
llvm::ArrayRef<RuleRow> elementwiseRules();
llvm::ArrayRef<RuleRow> controlFlowRules();

} // namespace farskip::onnx::reader
