// Names and sizes of ONNX data types and attribute types.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Proto.h"

using namespace llvm;

namespace farskip::onnx::reader {

namespace {
struct TypeRow {
  const char *name;
  unsigned bits;
};
// Indexed by TensorProto.DataType.
constexpr TypeRow typeRows[] = {
    {"undefined", 0},      {"float", 32},    {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"double", 64},   {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2},      {"float6e2m3", 6},   {"float6e3m2", 6},
};
constexpr const char *attributeNames[] = {
    "UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
    "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
} // namespace

std::optional<DataType> dataTypeFromNumber(uint64_t number) {
  if (number == 0 || number >= std::size(typeRows))
    return std::nullopt;
  return static_cast<DataType>(number);
}

unsigned bitWidth(DataType type) { return typeRows[static_cast<size_t>(type)].bits; }

StringRef name(DataType type) { return typeRows[static_cast<size_t>(type)].name; }

StringRef knownDataTypes() { return "1 (float) to 28 (float6e3m2)"; }

StringRef name(AttributeType type) { return attributeNames[static_cast<size_t>(type)]; }

} // namespace farskip::onnx::reader
