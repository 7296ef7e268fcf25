// Operators that move data: axes, starts, sizes and pads become inputs; Scatter gets its newer name.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Check.h"
#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/Rewriter.h"

using namespace llvm;

namespace farskip::onnx::reader {

/// Squeeze and Unsqueeze before 13.
static Expected<Outcome> upgradeAxes(Node &node, Rewriter &rewriter) {
  Expected<bool> axes = rewriter.intsToInput(node, "axes");
  if (!axes)
    return axes.takeError();
  if (!*axes && node.opType == "Unsqueeze")
    return failure(describe(node) + ": the required attribute 'axes' is missing");
  return Outcome::Keep;
}

/// Slice before 10: starts, ends, axes are attributes, steps are 1.
static Expected<Outcome> upgradeSlice(Node &node, Rewriter &rewriter) {
  if (Error error = expectInputs(node, 1))
    return std::move(error);
  SmallVector<StringRef> inputs(node.inputs);
  size_t length = 0;
  for (StringRef attribute : {"starts", "ends", "axes"}) {
    Expected<const Attribute *> value = rewriter.take(node, attribute, AttributeType::Ints);
    if (!value)
      return value.takeError();
    bool first = inputs.size() == 1;
    if (!*value && attribute == "axes")
      break;
    if (!*value)
      return failure(describe(node) + ": the required attribute '" + attribute + "' is missing");
    if (!first && (*value)->ints.size() != length)
      return failure(describe(node) + ": attribute '" + attribute + "' has " + Twine((*value)->ints.size()) +
                     " entries, 'starts' has " + Twine(length));
    length = (*value)->ints.size();
    inputs.push_back(rewriter.constantInts((*value)->ints, attribute));
  }
  rewriter.setInputs(node, inputs);
  return Outcome::Keep;
}

/// Split before 13: the sizes are an attribute.
static Expected<Outcome> upgradeSplitSizes(Node &node, Rewriter &rewriter) {
  if (Error error = expectInputs(node, 1))
    return std::move(error);
  Expected<const Attribute *> sizes = rewriter.take(node, "split", AttributeType::Ints);
  if (!sizes)
    return sizes.takeError();
  if (*sizes)
    rewriter.setInputs(node, {node.inputs[0], rewriter.constantInts((*sizes)->ints, "split")});
  return Outcome::Keep;
}

/// Split before 18: without sizes, the number of outputs says how many equal parts.
static Expected<Outcome> upgradeSplitCount(Node &node, Rewriter &rewriter) {
  if (node.inputs.size() < 2 || node.inputs[1].empty())
    rewriter.addInt(node, "num_outputs", static_cast<int64_t>(node.outputs.size()));
  return Outcome::Keep;
}

/// Pad before 11: pads and value are attributes.
static Expected<Outcome> upgradePad(Node &node, Rewriter &rewriter) {
  if (Error error = expectInputs(node, 1))
    return std::move(error);
  Expected<const Attribute *> pads = rewriter.take(node, "pads", AttributeType::Ints);
  if (!pads)
    return pads.takeError();
  if (!*pads)
    return failure(describe(node) + ": the required attribute 'pads' is missing");
  Expected<const Attribute *> value = rewriter.take(node, "value", AttributeType::Float);
  if (!value)
    return value.takeError();
  SmallVector<StringRef> inputs = {node.inputs[0], rewriter.constantInts((*pads)->ints, "pads")};
  if (*value)
    inputs.push_back(rewriter.create("CastLike", {rewriter.constantFloat((*value)->f, "value"), node.inputs[0]}, node));
  rewriter.setInputs(node, inputs);
  return Outcome::Keep;
}

static Expected<Outcome> renameScatter(Node &node, Rewriter &rewriter) {
  node.opType = "ScatterElements";
  return Outcome::Keep;
}

/// `reduction` may say what the node's version knows, no more.
static Expected<Outcome> checkReduction(Node &node, Rewriter &rewriter) {
  const Attribute *reduction = node.attribute("reduction");
  if (!reduction || reduction->type != AttributeType::String)
    return Outcome::Keep; // another type is refused with all other attributes of a wrong type
  static constexpr StringLiteral known[] = {"none", "add", "mul", "max", "min"};
  bool extrema = node.opset >= 18;
  if (is_contained(ArrayRef<StringLiteral>(known).take_front(extrema ? 5 : 3), reduction->s))
    return Outcome::Keep;
  return failure(describe(node) + ": reduction " + quoted(reduction->s) + " is unknown in opset " + Twine(node.opset) +
                 "; known: none, add, mul" + (extrema ? ", max, min" : ""));
}

ArrayRef<RuleRow> shapeRules() {
  static constexpr RuleRow rows[] = {
      {"Squeeze", 13, upgradeAxes},          {"Unsqueeze", 13, upgradeAxes},
      {"Slice", 10, upgradeSlice},           {"Split", 13, upgradeSplitSizes},
      {"Split", 18, upgradeSplitCount},      {"Pad", 11, upgradePad},
      {"Scatter", always, renameScatter},    {"ScatterElements", always, checkReduction},
      {"ScatterND", always, checkReduction},
  };
  return rows;
}

} // namespace farskip::onnx::reader
