// From a module of the onnx dialect back to an ONNX model.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_EXPORT_EXPORT_H
#define FARSKIP_COMPILER_EXPORT_EXPORT_H

#include "compiler/Export/WireWriter.h"
#include "compiler/Import/ModelFiles.h"
#include "mlir/IR/BuiltinOps.h"

namespace farskip {

/// The ModelProto of `func @main` in phase `connected` or before it: one node per operation, in the order of the
/// operations, with the names that the attributes of the import keep (see OnnxBuilder.h), made unique. Weights and
/// constants that were initializers are initializers with raw_data; weights refer to the mapped `files`, which must
/// outlive the result. Declares the lowest opset that has every operator in the form that is written, 13 to 25, and
/// the metadata of the model together with `farskip.layers` and `farskip.part` where the module has them.
///
/// Errors: an operation that is no ONNX operator or needs a later opset, and a model of 2 GiB or more, which
/// protobuf cannot hold in one message.
llvm::Expected<WireWriter> exportModel(mlir::ModuleOp module, const onnx::reader::ModelFiles &files);

} // namespace farskip

#endif
