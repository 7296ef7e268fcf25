// Building blocks of upgrade rules.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Rewriter.h"

#include "compiler/Import/Check.h"
#include "compiler/Import/Diagnostics.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace farskip::onnx::reader {

ValueFacts::Facts *ValueFacts::define(StringRef name) {
  auto [at, isNew] = facts.try_emplace(CachedHashStringRef(name));
  if (isNew)
    return &at->second;
  at->second = Facts{std::nullopt, nullptr, true};
  return nullptr;
}

void ValueFacts::collect(const Graph &graph) {
  for (const Tensor &tensor : graph.initializers)
    if (Facts *value = define(tensor.name)) {
      value->rank = static_cast<int64_t>(tensor.dims.size());
      value->constant = model.arena->create(tensor); // the list of initializers may move
    }
  for (const ValueInfo &input : graph.inputs)
    if (Facts *value = define(input.name); value && input.type.hasShape)
      value->rank = static_cast<int64_t>(input.type.dims.size());
  for (const Node &node : graph.nodes) {
    const Attribute *tensor = node.opType == "Constant" && node.domain.empty() ? node.attribute("value") : nullptr;
    for (StringRef output : node.outputs)
      if (Facts *value = output.empty() ? nullptr : define(output); value && tensor && tensor->tensor) {
        value->rank = static_cast<int64_t>(tensor->tensor->dims.size());
        value->constant = tensor->tensor;
      }
    for (const Attribute &attribute : node.attributes)
      if (attribute.graph)
        collect(*attribute.graph);
  }
  for (const ValueInfo &info : graph.valueInfos) {
    auto at = facts.find(CachedHashStringRef(info.name));
    if (at != facts.end() && !at->second.ambiguous && info.type.hasShape && !at->second.rank)
      at->second.rank = static_cast<int64_t>(info.type.dims.size());
  }
}

std::optional<int64_t> ValueFacts::rank(StringRef value) {
  if (!std::exchange(collected, true))
    collect(model.graph);
  return facts.lookup(CachedHashStringRef(value)).rank;
}

const Tensor *ValueFacts::constant(StringRef value) {
  if (!std::exchange(collected, true))
    collect(model.graph);
  return facts.lookup(CachedHashStringRef(value)).constant;
}

Attribute intAttribute(StringRef name, int64_t value) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = AttributeType::Int;
  attribute.i = value;
  return attribute;
}

Error expectInputs(const Node &node, size_t count) {
  if (node.inputs.size() == count)
    return Error::success();
  return failure(describe(node) + ": it has " + Twine(node.inputs.size()) + " inputs; in opset " + Twine(node.opset) +
                 " it has " + Twine(count));
}

Expected<const Attribute *> Rewriter::take(Node &node, StringRef name, AttributeType type) {
  const Attribute *found = node.attribute(name);
  if (!found)
    return found;
  if (found->type != type)
    return failure(describe(node) + ": attribute " + quoted(name) + " is " + reader::name(found->type) +
                   "; it has to be " + reader::name(type));
  const Attribute *taken = model.arena->create(*found);
  auto kept = std::remove_if(node.attributes.begin(), node.attributes.end(),
                             [&](const Attribute &attribute) { return attribute.name == name; });
  node.attributes = node.attributes.take_front(kept - node.attributes.begin());
  return taken;
}

void Rewriter::add(Node &node, Attribute attribute) {
  SmallVector<Attribute> all(node.attributes.begin(), node.attributes.end());
  all.push_back(attribute);
  node.attributes = model.arena->copy(ArrayRef<Attribute>(all));
}

void Rewriter::addInt(Node &node, StringRef name, int64_t value) { add(node, intAttribute(name, value)); }

Tensor *Rewriter::makeTensor(DataType type, ArrayRef<int64_t> dims, ArrayRef<char> bytes) {
  Tensor tensor;
  tensor.type = type;
  tensor.dims = model.arena->copy(dims);
  MutableArrayRef<char> data = model.arena->copy(bytes);
  tensor.data = DataRef{DataRef::owned, data.data(), 0, data.size()};
  return model.arena->create(tensor);
}

Tensor *Rewriter::makeStrings(ArrayRef<int64_t> dims, ArrayRef<StringRef> values) {
  Tensor tensor;
  tensor.type = DataType::String;
  tensor.dims = model.arena->copy(dims);
  tensor.strings = model.arena->copy(values);
  return model.arena->create(tensor);
}

StringRef Rewriter::initializer(Tensor *tensor, StringRef base) {
  tensor->name = names.make(base);
  graph.initializers.push_back(*tensor);
  return tensor->name;
}

Expected<bool> Rewriter::intsToInput(Node &node, StringRef name) {
  if (Error error = expectInputs(node, 1))
    return std::move(error);
  Expected<const Attribute *> list = take(node, name, AttributeType::Ints);
  if (!list)
    return list.takeError();
  if (*list)
    setInputs(node, {node.inputs[0], constantInts((*list)->ints, name)});
  return *list != nullptr;
}

StringRef Rewriter::constantInts(ArrayRef<int64_t> values, StringRef base) {
  SmallVector<char> bytes(values.size() * 8);
  for (auto [index, value] : enumerate(values))
    support::endian::write64le(bytes.data() + index * 8, static_cast<uint64_t>(value));
  return initializer(makeTensor(DataType::Int64, {static_cast<int64_t>(values.size())}, bytes), base);
}

StringRef Rewriter::constantFloat(float value, StringRef base) {
  char bytes[4];
  support::endian::write32le(bytes, bit_cast<uint32_t>(value));
  return initializer(makeTensor(DataType::Float, {}, bytes), base);
}

StringRef Rewriter::constantTrue(StringRef base) {
  char byte = 1;
  return initializer(makeTensor(DataType::Bool, {}, byte), base);
}

void Rewriter::setInputs(Node &node, ArrayRef<StringRef> inputs) { node.inputs = model.arena->copy(inputs); }

void Rewriter::setOutputs(Node &node, ArrayRef<StringRef> outputs) { node.outputs = model.arena->copy(outputs); }

StringRef Rewriter::create(StringRef op, ArrayRef<StringRef> inputs, const Node &origin,
                           ArrayRef<Attribute> attributes) {
  StringRef output = names.make(origin.outputs.empty() ? op : origin.outputs[0]);
  create(op, inputs, output, origin, attributes);
  return output;
}

void Rewriter::create(StringRef op, ArrayRef<StringRef> inputs, StringRef output, const Node &origin,
                      ArrayRef<Attribute> attributes) {
  Node node;
  // Node names have to differ as well for those who write the graph as ONNX again.
  node.name = names.make((origin.name.take_front(60) + "/" + op).str());
  node.opType = op;
  node.opset = maxOpset;
  node.inputs = model.arena->copy(inputs);
  node.outputs = model.arena->copy(ArrayRef<StringRef>(output));
  node.attributes = model.arena->copy(attributes);
  out.push_back(node);
}

} // namespace farskip::onnx::reader
