// The description of a program that is compiled into it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_DRIVER_DESCRIPTION_H
#define FARSKIP_COMPILER_DRIVER_DESCRIPTION_H

#include "compiler/Driver/Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace farskip {

/// The JSON text that the run-time reads (runtime/README.md lists its fields), from a module in a tensor phase.
/// `build_id` and `weights_bytes` are added by `finishDescription`.
std::string describeProgram(mlir::ModuleOp module, const DriverOptions &options);

/// Adds the fields that are known last and stores the text in the module as the symbol `farskip_model_json`.
void embedDescription(mlir::ModuleOp module, llvm::StringRef description, llvm::StringRef buildId,
                      uint64_t weightsBytes);

} // namespace farskip

#endif
