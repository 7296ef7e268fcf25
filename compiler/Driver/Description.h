// The description of a program that is compiled into it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_DRIVER_DESCRIPTION_H
#define FARSKIP_COMPILER_DRIVER_DESCRIPTION_H

#include "compiler/Driver/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace farskip {

/// What the run-time reads (runtime/README.md lists the fields), from a module of onnx operators.
llvm::json::Object describeProgram(mlir::ModuleOp module, const DriverOptions &options);

/// Adds what the phase `sharded` decided: axes along which inputs and outputs are cut, their symbols, collectives.
void describeDistribution(mlir::ModuleOp module, llvm::json::Object &description);

/// Adds the fields that are known last and stores the text in the module as the symbol `farskip_model_json`.
void embedDescription(mlir::ModuleOp module, llvm::StringRef description, llvm::StringRef buildId,
                      uint64_t weightsBytes);

} // namespace farskip

#endif
