// The model as plain data: what onnx.proto (IR 3 to 14) says, checked, with weights as references.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/Arena.h"
#include "compiler/Import/ModelFiles.h"
#include "llvm/ADT/StringMap.h"
#include <cassert>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace farskip::onnx::reader {

/// TensorProto.DataType. Every value that onnx.proto defines is kept, also those no operator here can use.
enum class DataType : uint8_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};

/// The type with this number in onnx.proto, nothing for 0 and for numbers it does not define.
std::optional<DataType> dataTypeFromNumber(uint64_t number);
/// Bits of one element in raw_data; 0 for String and Undefined. Types below 8 bits are packed, first element lowest.
unsigned bitWidth(DataType type);
/// "float", "int64", … for messages.
llvm::StringRef name(DataType type);
/// "uint8, int8, …": what a message offers instead of an unknown number.
llvm::StringRef knownDataTypes();

/// One dim of a declared type.
struct Dim {
  enum Kind : uint8_t { Unknown, Size, Symbol };
  Kind kind = Unknown;
  int64_t size = 0;       ///< Size only, >= 0
  llvm::StringRef symbol; ///< Symbol only, never empty
};

/// TypeProto. Other kinds than Tensor are recorded by their kind alone.
struct Type {
  enum Kind : uint8_t { None, Tensor, Sequence, Map, Optional, SparseTensor, Opaque };
  Kind kind = None;
  DataType elementType = DataType::Undefined; ///< Tensor only; Undefined is legal in value_info and outputs
  bool hasShape = false;                      ///< without a shape the rank is unknown
  llvm::ArrayRef<Dim> dims;
};

struct ValueInfo {
  llvm::StringRef name;
  Type type;
};

/// TensorProto. `data` holds exactly the little-endian bytes that `dims` and `type` ask for (raw_data layout);
/// for String it is empty and `strings` has the elements.
struct Tensor {
  llvm::StringRef name;
  DataType type = DataType::Undefined;
  llvm::ArrayRef<int64_t> dims; ///< each >= 0, at most 64, product checked
  DataRef data;
  llvm::ArrayRef<llvm::StringRef> strings;

  /// Number of elements; cannot overflow, the reader has checked it.
  int64_t numElements() const {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    return count;
  }
};

/// AttributeProto.AttributeType.
enum class AttributeType : uint8_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  TypeProto = 13,
  TypeProtos = 14,
};

/// "INT", "FLOATS", … for messages.
llvm::StringRef name(AttributeType type);

struct Graph;

/// AttributeProto. Only the member that `type` names is set. SparseTensor never appears (densified to Tensor);
/// of Tensors, Graphs, SparseTensors, TypeProto and TypeProtos only the type is kept: no known operator takes them.
struct Attribute {
  llvm::StringRef name;
  AttributeType type = AttributeType::Undefined;
  llvm::StringRef reference; ///< ref_attr_name; empty everywhere once functions are inlined
  float f = 0;
  int64_t i = 0;
  llvm::StringRef s;
  const Tensor *tensor = nullptr;
  Graph *graph = nullptr;
  llvm::ArrayRef<float> floats;
  llvm::ArrayRef<int64_t> ints;
  llvm::ArrayRef<llvm::StringRef> strings;
};

/// NodeProto. An empty name among inputs or outputs is an absent optional one.
struct Node {
  llvm::StringRef name;
  llvm::StringRef opType;
  llvm::StringRef domain; ///< "" for ai.onnx
  llvm::StringRef overload;
  llvm::MutableArrayRef<llvm::StringRef> inputs, outputs;
  llvm::MutableArrayRef<Attribute> attributes;
  uint32_t opset = 0; ///< version of `domain` the node was written for; 0 where the domain is unknown

  const Attribute *attribute(llvm::StringRef wanted) const {
    for (const Attribute &attribute : attributes)
      if (attribute.name == wanted)
        return &attribute;
    return nullptr;
  }
};

/// GraphProto. In a nested graph names that it does not define are those of the graphs around it.
struct Graph {
  llvm::StringRef name;
  std::vector<Node> nodes; ///< topologically sorted, in the file's order where that was sorted
  std::vector<ValueInfo> inputs, outputs, valueInfos;
  std::vector<Tensor> initializers; ///< sparse ones included, densified
};

struct OpsetImport {
  llvm::StringRef domain; ///< "" for ai.onnx
  int64_t version = 0;
};

/// FunctionProto; gone from the model once functions are inlined.
struct Function {
  llvm::StringRef name, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<llvm::StringRef> attributes; ///< without a default
  std::vector<Attribute> attributeDefaults;
  std::vector<OpsetImport> opsetImports;
  Graph body; ///< nodes and valueInfos only
};

struct Property {
  llvm::StringRef key, value;
};

/// ModelProto and the files it refers to. Movable, not copyable; everything in it lives as long as it does.
struct Model {
  explicit Model(uint64_t structureBudget) : arena(std::make_unique<Arena>(structureBudget)) {}

  int64_t irVersion = 0;
  std::vector<OpsetImport> opsetImports;
  llvm::StringRef producerName, producerVersion, domain;
  int64_t modelVersion = 0;
  std::vector<Property> metadata;
  Graph graph;
  std::vector<Function> functions;
  bool hasTrainingInfo = false;

  ModelFiles files;
  std::unique_ptr<Arena> arena;
  std::deque<Graph> nested; ///< owner of the graphs that attributes point to

  llvm::ArrayRef<char> bytes(const Tensor &tensor) const { return files.bytes(tensor.data); }
};

} // namespace farskip::onnx::reader
