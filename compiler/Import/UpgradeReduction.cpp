// Operators that work along axes: reductions, TopK, and the softmax family with its old flattening.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Check.h"
#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/Rewriter.h"

using namespace llvm;

namespace farskip::onnx::reader {

/// Reductions whose axes were an attribute. Without axes all versions reduce over everything.
static Expected<Outcome> upgradeReduce(Node &node, Rewriter &rewriter) {
  Expected<bool> axes = rewriter.intsToInput(node, "axes");
  if (!axes)
    return axes.takeError();
  return Outcome::Keep;
}

/// TopK before 10: k is an attribute.
static Expected<Outcome> upgradeTopK(Node &node, Rewriter &rewriter) {
  if (Error error = expectInputs(node, 1))
    return std::move(error);
  Expected<const Attribute *> k = rewriter.take(node, "k", AttributeType::Int);
  if (!k)
    return k.takeError();
  if (!*k)
    return failure(describe(node) + ": the required attribute 'k' is missing");
  rewriter.setInputs(node, {node.inputs[0], rewriter.constantInts((*k)->i, "k")});
  return Outcome::Keep;
}

/// Before 13, Softmax, LogSoftmax and Hardmax see their input as [product of dims before axis, product of the rest],
/// with axis 1 by default. Where that is not simply the last axis, the node becomes
///     Reshape(op(Flatten(x, axis), axis -1), Shape(x), allowzero 1)
static Expected<Outcome> upgradeSoftmax(Node &node, Rewriter &rewriter) {
  if (Error error = expectInputs(node, 1))
    return std::move(error);
  if (node.outputs.size() != 1 || node.outputs[0].empty())
    return failure(describe(node) + ": it has to have one output");
  Expected<const Attribute *> given = rewriter.take(node, "axis", AttributeType::Int);
  if (!given)
    return given.takeError();
  int64_t axis = *given ? (*given)->i : 1;
  StringRef input = node.inputs[0];
  std::optional<int64_t> rank = rewriter.facts.rank(input);
  if (rank && (axis < -*rank || axis >= *rank))
    return failure(describe(node) + ": axis " + Twine(axis) + " is not within rank " + Twine(*rank));
  bool last = axis == -1 || (rank && axis == *rank - 1);
  rewriter.addInt(node, "axis", -1);
  if (last)
    return Outcome::Keep;
  StringRef shape = rewriter.create("Shape", input, node);
  StringRef flat = rewriter.create("Flatten", input, node, intAttribute("axis", axis));
  StringRef output = node.outputs[0];
  Node inner = node;
  rewriter.setInputs(inner, flat);
  StringRef result = rewriter.fresh(output);
  rewriter.setOutputs(inner, result);
  rewriter.emit(inner);
  rewriter.create("Reshape", {result, shape}, output, node, intAttribute("allowzero", 1));
  return Outcome::Replaced;
}

ArrayRef<RuleRow> reductionRules() {
  static constexpr RuleRow rows[] = {
      {"ReduceSum", 13, upgradeReduce},
      {"ReduceMean", 18, upgradeReduce},
      {"ReduceMax", 18, upgradeReduce},
      {"ReduceMin", 18, upgradeReduce},
      {"ReduceProd", 18, upgradeReduce},
      {"ReduceL1", 18, upgradeReduce},
      {"ReduceL2", 18, upgradeReduce},
      {"ReduceLogSum", 18, upgradeReduce},
      {"ReduceLogSumExp", 18, upgradeReduce},
      {"ReduceSumSquare", 18, upgradeReduce},
      {"TopK", 10, upgradeTopK},
      {"Softmax", 13, upgradeSoftmax},
      {"LogSoftmax", 13, upgradeSoftmax},
      {"Hardmax", 13, upgradeSoftmax},
  };
  return rows;
}

} // namespace farskip::onnx::reader
