// Constant: its forms become one, a tensor `value`.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Check.h"
#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/Rewriter.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace farskip::onnx::reader {

/// The tensor that an attribute of Constant stands for; null when the attribute is none of its value forms.
static const Tensor *constantTensor(const Attribute &attribute, Rewriter &rewriter) {
  auto numbers = [&](auto values, DataType type, ArrayRef<int64_t> dims) {
    SmallVector<char> bytes;
    bytes.resize(values.size() * sizeof(values[0]));
    for (auto [index, value] : enumerate(values))
      support::endian::write(bytes.data() + index * sizeof(value), value, endianness::little);
    return rewriter.makeTensor(type, dims, bytes);
  };
  auto length = [](auto list) { return static_cast<int64_t>(list.size()); };
  auto is = [&](StringRef name, AttributeType type) { return attribute.name == name && attribute.type == type; };
  if (is("value", AttributeType::Tensor) || is("sparse_value", AttributeType::Tensor))
    return attribute.tensor;
  if (is("value_int", AttributeType::Int))
    return numbers(ArrayRef<int64_t>(attribute.i), DataType::Int64, {});
  if (is("value_ints", AttributeType::Ints))
    return numbers(attribute.ints, DataType::Int64, length(attribute.ints));
  if (is("value_float", AttributeType::Float))
    return numbers(ArrayRef<float>(attribute.f), DataType::Float, {});
  if (is("value_floats", AttributeType::Floats))
    return numbers(attribute.floats, DataType::Float, length(attribute.floats));
  if (is("value_string", AttributeType::String))
    return rewriter.makeStrings({}, attribute.s);
  if (is("value_strings", AttributeType::Strings))
    return rewriter.makeStrings(length(attribute.strings), attribute.strings);
  return nullptr;
}

static Expected<Outcome> upgradeConstant(Node &node, Rewriter &rewriter) {
  if (Error error = expectInputs(node, 0))
    return std::move(error);
  if (node.attributes.size() != 1)
    return failure(describe(node) + ": it has " + Twine(node.attributes.size()) +
                   " attributes; it has to have exactly one value");
  Attribute &attribute = node.attributes[0];
  const Tensor *tensor = constantTensor(attribute, rewriter);
  if (!tensor)
    return failure(describe(node) + ": attribute " + quoted(attribute.name) + " of type " + name(attribute.type) +
                   " is no value; known: value, sparse_value, value_int(s), value_float(s), value_string(s)");
  attribute = Attribute{};
  attribute.name = "value";
  attribute.type = AttributeType::Tensor;
  attribute.tensor = tensor;
  return Outcome::Keep;
}

ArrayRef<RuleRow> constantRules() {
  static constexpr RuleRow rows[] = {{"Constant", always, upgradeConstant}};
  return rows;
}

} // namespace farskip::onnx::reader
