// Writes ONNX models byte by byte, good and bad ones, without any protobuf library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace farskip::onnx::reader::test {

/// The bytes of one protobuf message, appended field by field.
class Proto {
public:
  Proto() = default;
  Proto &varint(uint32_t field, uint64_t value) {
    raw(field << 3 | 0);
    raw(value);
    return *this;
  }
  Proto &bytes(uint32_t field, const std::string &value) {
    raw(field << 3 | 2);
    raw(value.size());
    data += value;
    return *this;
  }
  Proto &message(uint32_t field, const Proto &value) { return bytes(field, value.data); }
  Proto &fixed32(uint32_t field, float value) {
    raw(field << 3 | 5);
    append(value);
    return *this;
  }
  /// A varint without a field, for packed lists.
  Proto &raw(uint64_t value) {
    for (; value > 0x7f; value >>= 7)
      data += static_cast<char>(value | 0x80);
    data += static_cast<char>(value);
    return *this;
  }
  const std::string &str() const { return data; }

private:
  template <typename T> void append(T value) {
    char buffer[sizeof value];
    std::memcpy(buffer, &value, sizeof value);
    data.append(buffer, sizeof value);
  }
  std::string data;
};

/// Little-endian bytes of a list of numbers.
template <typename T> std::string rawBytes(std::initializer_list<T> values) {
  std::string out;
  for (T value : values) {
    char buffer[sizeof value];
    std::memcpy(buffer, &value, sizeof value);
    out.append(buffer, sizeof value);
  }
  return out;
}

using Names = std::vector<std::string>;
using Dims = std::vector<int64_t>;
constexpr int FLOAT = 1, INT8 = 3, INT32 = 6, INT64 = 7, STRING = 8, BOOL = 9, FLOAT16 = 10, INT4 = 22;

/// TensorProto without data: append a field for it.
inline Proto tensorHead(const std::string &name, int type, const Dims &dims) {
  Proto tensor;
  for (int64_t dim : dims)
    tensor.varint(1, static_cast<uint64_t>(dim));
  return tensor.varint(2, static_cast<uint64_t>(type)).bytes(8, name);
}
inline Proto tensor(const std::string &name, int type, const Dims &dims, const std::string &raw) {
  return tensorHead(name, type, dims).bytes(9, raw);
}
/// A tensor in external data with these entries.
inline Proto externalTensor(const std::string &name, int type, const Dims &dims,
                            const std::vector<std::pair<std::string, std::string>> &entries) {
  Proto proto = tensorHead(name, type, dims).varint(14, 1);
  for (const auto &[key, value] : entries)
    proto.message(13, Proto().bytes(1, key).bytes(2, value));
  return proto;
}

/// ValueInfoProto of a tensor; dims of -1 are left unknown.
inline Proto valueInfo(const std::string &name, int type = FLOAT, const Dims &dims = {3}) {
  Proto shape;
  for (int64_t dim : dims)
    shape.message(1, dim < 0 ? Proto() : Proto().varint(1, static_cast<uint64_t>(dim)));
  Proto tensorType = Proto().varint(1, static_cast<uint64_t>(type)).message(2, shape);
  return Proto().bytes(1, name).message(2, Proto().message(1, tensorType));
}

inline Proto intAttr(const std::string &name, int64_t value) {
  return Proto().bytes(1, name).varint(3, static_cast<uint64_t>(value)).varint(20, 2);
}
inline Proto floatAttr(const std::string &name, float value) {
  return Proto().bytes(1, name).fixed32(2, value).varint(20, 1);
}
inline Proto stringAttr(const std::string &name, const std::string &value) {
  return Proto().bytes(1, name).bytes(4, value).varint(20, 3);
}
inline Proto intsAttr(const std::string &name, const Dims &values) {
  Proto attribute = Proto().bytes(1, name).varint(20, 7);
  for (int64_t value : values)
    attribute.varint(8, static_cast<uint64_t>(value));
  return attribute;
}
inline Proto tensorAttr(const std::string &name, const Proto &value) {
  return Proto().bytes(1, name).message(5, value).varint(20, 4);
}
inline Proto graphAttr(const std::string &name, const Proto &value) {
  return Proto().bytes(1, name).message(6, value).varint(20, 5);
}
/// A reference to attribute `of` of the function.
inline Proto refAttr(const std::string &name, const std::string &of, int type) {
  return Proto().bytes(1, name).bytes(21, of).varint(20, static_cast<uint64_t>(type));
}

inline Proto node(const std::string &op, const Names &inputs, const Names &outputs,
                  const std::vector<Proto> &attributes = {}, const std::string &domain = "") {
  Proto proto;
  for (const std::string &input : inputs)
    proto.bytes(1, input);
  for (const std::string &output : outputs)
    proto.bytes(2, output);
  proto.bytes(3, outputs.empty() ? op : "make_" + outputs[0]).bytes(4, op);
  for (const Proto &attribute : attributes)
    proto.message(5, attribute);
  return domain.empty() ? proto : proto.bytes(7, domain);
}

struct GraphParts {
  std::vector<Proto> nodes, inputs, outputs, initializers, sparseInitializers, valueInfos;
};
inline Proto graph(const GraphParts &parts) {
  Proto proto = Proto().bytes(2, "g");
  auto add = [&](uint32_t field, const std::vector<Proto> &list) {
    for (const Proto &item : list)
      proto.message(field, item);
  };
  add(1, parts.nodes);
  add(5, parts.initializers);
  add(15, parts.sparseInitializers);
  add(11, parts.inputs);
  add(12, parts.outputs);
  add(13, parts.valueInfos);
  return proto;
}

inline Proto opsetImport(const std::string &domain, uint64_t version) {
  return Proto().bytes(1, domain).varint(2, version);
}

/// ModelProto of IR 8; fields may be appended.
inline Proto model(const Proto &graph, uint64_t opset = 17) {
  return Proto().varint(1, 8).message(8, opsetImport("", opset)).message(7, graph);
}

struct FunctionParts {
  std::string name;
  Names inputs, outputs;
  std::vector<Proto> nodes;
  Names attributes;
  std::vector<Proto> defaults;
  uint64_t opset = 17;
};
/// FunctionProto in the domain "local", which it imports.
inline Proto function(const FunctionParts &parts) {
  Proto proto = Proto().bytes(1, parts.name).bytes(10, "local");
  for (const std::string &input : parts.inputs)
    proto.bytes(4, input);
  for (const std::string &output : parts.outputs)
    proto.bytes(5, output);
  for (const std::string &attribute : parts.attributes)
    proto.bytes(6, attribute);
  for (const Proto &attribute : parts.defaults)
    proto.message(11, attribute);
  for (const Proto &item : parts.nodes)
    proto.message(7, item);
  return proto.message(9, opsetImport("", parts.opset)).message(9, opsetImport("local", 1));
}

} // namespace farskip::onnx::reader::test
