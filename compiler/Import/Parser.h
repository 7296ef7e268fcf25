// Turns the bytes of a .onnx file into a Model, checking whatever one message alone can tell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/ExternalData.h"
#include "compiler/Import/ImportOptions.h"
#include "compiler/Import/Proto.h"
#include "llvm/ADT/SmallVector.h"

namespace farskip::onnx::reader {

/// One parse of one file. Messages are read where they are mapped; repeated scalar fields take the last value, an
/// embedded message that must be single is refused when it comes twice.
///
/// Errors name the initializer, node, attribute or value they are about.
class Parser {
public:
  Parser(Model &model, ExternalData &externalData, const ImportOptions &options)
      : model(model), externalData(externalData), options(options) {}

  /// Parses `file` of the model's files (the .onnx) into the model.
  llvm::Error parse(uint32_t file);

private:
  using Bytes = llvm::StringRef;

  // ParseModel.cpp
  llvm::Error parseModel(Bytes bytes);
  llvm::Error parseFunction(Bytes bytes, Function &function);
  llvm::Error parseProperty(Bytes bytes, Property &property);
  llvm::Error parseOpsetImport(Bytes bytes, OpsetImport &import);
  // ParseGraph.cpp
  llvm::Error parseGraph(Bytes bytes, Graph &graph, unsigned depth);
  llvm::Error parseNode(Bytes bytes, Node &node, unsigned depth);
  llvm::Error parseAttribute(Bytes bytes, Attribute &attribute, unsigned depth);
  llvm::Error addNode(Bytes bytes, Graph &graph, unsigned depth);
  // ParseType.cpp
  llvm::Error parseValueInfo(Bytes bytes, ValueInfo &info);
  llvm::Error parseType(Bytes bytes, Type &type);
  llvm::Error parseTensorType(Bytes bytes, Type &type);
  llvm::Error parseDim(Bytes bytes, Dim &dim);
  // ParseTensor.cpp
  struct TensorFields;
  llvm::Error parseTensor(Bytes bytes, Tensor &tensor);
  llvm::Error scanTensor(Bytes bytes, TensorFields &fields);
  llvm::Error storeTensor(Bytes bytes, const TensorFields &fields, Tensor &tensor);
  llvm::Error checkBools(const Tensor &tensor);
  llvm::Error convertTypedData(Bytes bytes, const TensorFields &fields, uint64_t entries, Tensor &tensor);
  // ParseSparse.cpp
  llvm::Error parseSparseTensor(Bytes bytes, Tensor &tensor);
  llvm::Error densify(const Tensor &values, const Tensor &indices, Tensor &tensor);

  /// Books `bytes` of memory for model structure.
  llvm::Error charge(uint64_t bytes);
  DataRef reference(Bytes bytes) const;
  template <typename T> llvm::Error append(llvm::SmallVectorImpl<T> &list, T value) {
    if (llvm::Error error = charge(sizeof(T)))
      return error;
    list.push_back(value);
    return llvm::Error::success();
  }

  Model &model;
  ExternalData &externalData;
  const ImportOptions &options;
  uint32_t modelFile = 0;
  const char *modelBegin = nullptr;
  uint64_t nodeCount = 0, denseSparseBytes = 0, boolBytes = 0;
};

/// Domain names are kept as "" for "ai.onnx".
llvm::StringRef normalizedDomain(llvm::StringRef domain);

/// Reads repeated int64 (varints), packed or not, into `list`; false when `bytes` is malformed.
bool readPackedVarints(llvm::StringRef bytes, llvm::SmallVectorImpl<int64_t> &list);

} // namespace farskip::onnx::reader
