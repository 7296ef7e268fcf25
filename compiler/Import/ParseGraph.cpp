// GraphProto, NodeProto and AttributeProto.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Parser.h"

#include "compiler/Import/WireFormat.h"
#include "llvm/ADT/bit.h"

using namespace llvm;

namespace farskip::onnx::reader {

/// The last string in field `number` of a message, for messages about something whose name comes late.
static StringRef stringField(StringRef message, uint32_t number) {
  StringRef text;
  FieldReader fields(message);
  while (fields.next())
    if (fields.key() == bytesField(number))
      text = fields.bytes();
  return text;
}

static std::string describeNode(StringRef name, StringRef opType) {
  return "node " + quoted(name) + " (" + escaped(opType) + ")";
}

Error Parser::addNode(Bytes bytes, Graph &graph, unsigned depth) {
  if (nodeCount == options.maxNodes)
    return failure("the model has more nodes than the limit of " + Twine(options.maxNodes));
  ++nodeCount;
  if (Error error = charge(sizeof(Node)))
    return error;
  Node node;
  if (Error error = parseNode(bytes, node, depth)) {
    std::string message = toString(std::move(error));
    if (StringRef(message).starts_with("node ")) // the innermost node is enough
      return failure(message);
    return failure(describeNode(stringField(bytes, 3), stringField(bytes, 4)) + ": " + message);
  }
  graph.nodes.push_back(node);
  return Error::success();
}

Error Parser::parseGraph(Bytes bytes, Graph &graph, unsigned depth) {
  if (depth > options.maxGraphNesting)
    return failure("graphs are nested deeper than the limit of " + Twine(options.maxGraphNesting));
  if (Error error = charge(sizeof(Graph)))
    return error;
  // Counting first keeps the big vectors exact.
  size_t nodes = 0, initializers = 0;
  FieldReader count(bytes);
  while (count.next()) {
    nodes += count.key() == bytesField(1);
    initializers += count.key() == bytesField(5);
  }
  if (nodes > options.maxNodes)
    return failure("the graph has " + Twine(nodes) + " nodes, more than the limit of " + Twine(options.maxNodes));
  graph.nodes.reserve(nodes);
  if (Error error = charge(sizeof(Tensor) * initializers))
    return error;
  graph.initializers.reserve(initializers);

  FieldReader fields(bytes);
  while (fields.next()) {
    Error error = Error::success();
    switch (fields.key()) {
    case bytesField(1):
      error = addNode(fields.bytes(), graph, depth);
      break;
    case bytesField(2):
      graph.name = fields.bytes();
      break;
    case bytesField(5):
      error = parseTensor(fields.bytes(), graph.initializers.emplace_back());
      if (error)
        return failure("initializer " + quoted(stringField(fields.bytes(), 8)) + ": " + toString(std::move(error)));
      break;
    case bytesField(11):
      error = parseValueInfo(fields.bytes(), graph.inputs.emplace_back());
      break;
    case bytesField(12):
      error = parseValueInfo(fields.bytes(), graph.outputs.emplace_back());
      break;
    case bytesField(13):
      error = parseValueInfo(fields.bytes(), graph.valueInfos.emplace_back());
      break;
    case bytesField(15):
      if (Error charged = charge(sizeof(Tensor)))
        return charged;
      error = parseSparseTensor(fields.bytes(), graph.initializers.emplace_back());
      break;
    }
    if (error)
      return error;
  }
  return fields.takeError("GraphProto");
}

Error Parser::parseNode(Bytes bytes, Node &node, unsigned depth) {
  SmallVector<StringRef, 8> inputs, outputs;
  SmallVector<Attribute, 4> attributes;
  FieldReader fields(bytes);
  while (fields.next()) {
    Error error = Error::success();
    switch (fields.key()) {
    case bytesField(1):
      error = append(inputs, fields.bytes());
      break;
    case bytesField(2):
      error = append(outputs, fields.bytes());
      break;
    case bytesField(3):
      node.name = fields.bytes();
      break;
    case bytesField(4):
      node.opType = fields.bytes();
      break;
    case bytesField(5):
      if (attributes.size() == options.maxAttributes)
        return failure("it has more attributes than the limit of " + Twine(options.maxAttributes));
      if (Error charged = charge(sizeof(Attribute)))
        return charged;
      error = parseAttribute(fields.bytes(), attributes.emplace_back(), depth);
      break;
    case bytesField(7):
      node.domain = normalizedDomain(fields.bytes());
      break;
    case bytesField(8):
      node.overload = fields.bytes();
      break;
    }
    if (error)
      return error;
  }
  if (Error error = fields.takeError("NodeProto"))
    return error;
  if (node.opType.empty())
    return failure("op_type is empty");
  node.inputs = model.arena->copy(ArrayRef<StringRef>(inputs));
  node.outputs = model.arena->copy(ArrayRef<StringRef>(outputs));
  node.attributes = model.arena->copy(ArrayRef<Attribute>(attributes));
  return Error::success();
}

namespace {
/// Which payload fields of an AttributeProto were there, as bits by AttributeType.
class Payloads {
public:
  void add(AttributeType type) { bits |= 1u << static_cast<unsigned>(type); }
  bool has(AttributeType type) const { return bits >> static_cast<unsigned>(type) & 1; }
  bool single() const { return has_single_bit(bits); }
  bool none() const { return bits == 0; }
  /// One of those present that is not `type`.
  AttributeType other(AttributeType type) const {
    return static_cast<AttributeType>(countr_zero(bits & ~(1u << static_cast<unsigned>(type))));
  }
  bool onlyOrNone(AttributeType type) const { return (bits & ~(1u << static_cast<unsigned>(type))) == 0; }

private:
  uint32_t bits = 0;
};
} // namespace

Error Parser::parseAttribute(Bytes bytes, Attribute &attribute, unsigned depth) {
  attribute.name = stringField(bytes, 1);
  auto wrong = [&](const Twine &what) { return failure("attribute " + quoted(attribute.name) + ": " + what); };
  SmallVector<int64_t, 8> ints;
  SmallVector<float, 8> floats;
  SmallVector<StringRef, 8> strings;
  Payloads present;
  uint64_t typeNumber = 0;
  FieldReader fields(bytes);
  while (fields.next()) {
    Error error = Error::success();
    switch (fields.key()) {
    case fixed32Field(2):
      present.add(AttributeType::Float);
      attribute.f = bit_cast<float>(static_cast<uint32_t>(fields.varint()));
      break;
    case varintField(3):
      present.add(AttributeType::Int);
      attribute.i = fields.signedVarint();
      break;
    case bytesField(4):
      present.add(AttributeType::String);
      attribute.s = fields.bytes();
      break;
    case bytesField(5):
    case bytesField(22): {
      if (attribute.tensor)
        return wrong("holds two tensors; it has to hold one");
      bool sparse = fields.key() == bytesField(22);
      present.add(sparse ? AttributeType::SparseTensor : AttributeType::Tensor);
      if (Error charged = charge(sizeof(Tensor)))
        return charged;
      Tensor *tensor = model.arena->create(Tensor{});
      error = sparse ? parseSparseTensor(fields.bytes(), *tensor) : parseTensor(fields.bytes(), *tensor);
      if (error && !sparse) {
        StringRef tensorName = stringField(fields.bytes(), 8);
        return wrong("tensor " + quoted(tensorName) + ": " + toString(std::move(error)));
      }
      attribute.tensor = tensor;
      break;
    }
    case bytesField(6):
      if (attribute.graph)
        return wrong("holds two graphs; it has to hold one");
      present.add(AttributeType::Graph);
      attribute.graph = &model.nested.emplace_back();
      if (Error inner = parseGraph(fields.bytes(), *attribute.graph, depth + 1))
        return inner;
      break;
    case fixed32Field(7):
      present.add(AttributeType::Floats);
      error = append(floats, bit_cast<float>(static_cast<uint32_t>(fields.varint())));
      break;
    case bytesField(7): {
      present.add(AttributeType::Floats);
      StringRef packed = fields.bytes();
      if (packed.size() % sizeof(float))
        return wrong("floats has " + Twine(packed.size()) + " bytes, not a multiple of 4");
      error = charge(packed.size());
      size_t old = floats.size();
      if (!error && !packed.empty()) {
        floats.resize(old + packed.size() / sizeof(float));
        std::memcpy(floats.data() + old, packed.data(), packed.size());
      }
      break;
    }
    case varintField(8):
      present.add(AttributeType::Ints);
      error = append(ints, fields.signedVarint());
      break;
    case bytesField(8):
      present.add(AttributeType::Ints);
      error = charge(fields.bytes().size() * sizeof(int64_t));
      if (!error && !readPackedVarints(fields.bytes(), ints))
        return wrong("malformed protobuf in ints");
      break;
    case bytesField(9):
      present.add(AttributeType::Strings);
      error = append(strings, fields.bytes());
      break;
    case bytesField(10):
      present.add(AttributeType::Tensors);
      break;
    case bytesField(11):
      present.add(AttributeType::Graphs);
      break;
    case bytesField(14):
      present.add(AttributeType::TypeProto);
      break;
    case bytesField(15):
      present.add(AttributeType::TypeProtos);
      break;
    case bytesField(23):
      present.add(AttributeType::SparseTensors);
      break;
    case varintField(20):
      typeNumber = fields.varint();
      break;
    case bytesField(21):
      attribute.reference = fields.bytes();
      break;
    }
    if (error)
      return wrong(toString(std::move(error)));
  }
  if (Error error = fields.takeError("AttributeProto"))
    return wrong(toString(std::move(error)));
  if (attribute.name.empty())
    return failure("an attribute has no name");
  if (typeNumber > static_cast<uint64_t>(AttributeType::TypeProtos))
    return wrong("type is " + Twine(typeNumber) + "; known: 1 (FLOAT) to 14 (TYPE_PROTOS)");
  auto type = static_cast<AttributeType>(typeNumber);
  if (!attribute.reference.empty()) {
    if (!present.none())
      return wrong("has both ref_attr_name and a value");
    attribute.type = type;
    return Error::success();
  }
  if (type == AttributeType::Undefined) {
    // IR versions before the tag existed.
    if (!present.single())
      return wrong("has no type and not exactly one value");
    type = present.other(AttributeType::Undefined);
  }
  if (!present.onlyOrNone(type))
    return wrong("is declared " + name(type) + " but holds " + name(present.other(type)));
  bool needsMessage = type == AttributeType::Tensor || type == AttributeType::SparseTensor ||
                      type == AttributeType::Graph || type == AttributeType::TypeProto;
  if (needsMessage && present.none())
    return wrong("is declared " + name(type) + " but holds nothing");
  attribute.type = type == AttributeType::SparseTensor ? AttributeType::Tensor : type;
  attribute.ints = model.arena->copy(ArrayRef<int64_t>(ints));
  attribute.floats = model.arena->copy(ArrayRef<float>(floats));
  attribute.strings = model.arena->copy(ArrayRef<StringRef>(strings));
  return Error::success();
}

} // namespace farskip::onnx::reader
