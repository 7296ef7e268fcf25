// Elementwise operators: Clip's bounds, Cast's target, Dropout at inference.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Check.h"
#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/Rewriter.h"
#include <limits>

using namespace llvm;

namespace farskip::onnx::reader {

/// Clip before 11: the bounds are f32 attributes that default to the finite range of f32 (so infinities are clipped).
static Expected<Outcome> upgradeClip(Node &node, Rewriter &rewriter) {
  if (Error error = expectInputs(node, 1))
    return std::move(error);
  SmallVector<StringRef> inputs(node.inputs);
  for (StringRef bound : {"min", "max"}) {
    Expected<const Attribute *> given = rewriter.take(node, bound, AttributeType::Float);
    if (!given)
      return given.takeError();
    float limit = std::numeric_limits<float>::max();
    float value = *given ? (*given)->f : bound == "min" ? -limit : limit;
    inputs.push_back(rewriter.create("CastLike", {rewriter.constantFloat(value, bound), node.inputs[0]}, node));
  }
  rewriter.setInputs(node, inputs);
  return Outcome::Keep;
}

/// A type number is never cut to fewer bits: 2^32 + 1 is unknown, not float.
static Expected<Outcome> checkCast(Node &node, Rewriter &rewriter) {
  const Attribute *to = node.attribute("to");
  if (to && to->type == AttributeType::Int && !dataTypeFromNumber(static_cast<uint64_t>(to->i)))
    return failure(describe(node) + ": attribute 'to' is " + Twine(to->i) + "; known: " + knownDataTypes());
  return Outcome::Keep;
}

/// True when the node says that it trains, or when that is decided at run time.
static bool mayTrain(const Node &node, Rewriter &rewriter) {
  if (node.inputs.size() < 3 || node.inputs[2].empty())
    return false;
  const Tensor *mode = rewriter.facts.constant(node.inputs[2]);
  if (!mode || mode->type != DataType::Bool || mode->numElements() != 1)
    return true;
  return rewriter.bytes(*mode)[0] != 0;
}

/// At inference Dropout passes its input on; the mask keeps everything. Before 10 the mask has the type of the data,
/// before 12 the ratio is an attribute. A Dropout that may train stays as it is.
static Expected<Outcome> upgradeDropout(Node &node, Rewriter &rewriter) {
  if (node.inputs.empty() || node.inputs[0].empty() || node.inputs.size() > (node.opset < 12 ? 1u : 3u) ||
      node.outputs.empty() || node.outputs.size() > 2)
    return failure(describe(node) + ": it has " + Twine(node.inputs.size()) + " inputs and " +
                   Twine(node.outputs.size()) + " outputs, which does not fit opset " + Twine(node.opset));
  if (mayTrain(node, rewriter))
    return Outcome::Keep;
  StringRef data = node.inputs[0];
  if (!node.outputs[0].empty())
    rewriter.create("Identity", data, node.outputs[0], node);
  if (node.outputs.size() < 2 || node.outputs[1].empty())
    return Outcome::Replaced;
  StringRef shape = rewriter.create("Shape", data, node);
  StringRef all = rewriter.constantTrue("keep");
  if (node.opset >= 10) {
    rewriter.create("Expand", {all, shape}, node.outputs[1], node);
  } else {
    StringRef one = rewriter.create("CastLike", {all, data}, node);
    rewriter.create("Expand", {one, shape}, node.outputs[1], node);
  }
  return Outcome::Replaced;
}

ArrayRef<RuleRow> elementwiseRules() {
  static constexpr RuleRow rows[] = {
      {"Clip", 11, upgradeClip},
      {"Cast", always, checkCast},
      {"Dropout", always, upgradeDropout},
  };
  return rows;
}

} // namespace farskip::onnx::reader
