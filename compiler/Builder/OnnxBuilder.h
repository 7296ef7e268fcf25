// From the reader's graph to a module of the onnx dialect.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_BUILDER_ONNXBUILDER_H
#define FARSKIP_COMPILER_BUILDER_ONNXBUILDER_H

#include "compiler/Import/Proto.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace farskip {

/// Builds `func @main` with the shapes of all values derived. Everything that is missing (operators, element types) is
/// listed in one error. Names are kept in discardable attributes: `onnx.node` and `onnx.outputs` on operations,
/// `onnx.name` and `onnx.dims` on arguments and results, `onnx.metadata` and `onnx.opset` on the module.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> buildModule(const onnx::reader::Model &model,
                                                              mlir::MLIRContext &context);

} // namespace farskip

#endif
