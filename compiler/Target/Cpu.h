// The CPU target: from the LLVM dialect to an executable.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_TARGET_CPU_H
#define FARSKIP_COMPILER_TARGET_CPU_H

#include "compiler/Target/KernelShape.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace farskip {

struct CpuOptions {
  std::string cpu = "native"; ///< native or an LLVM CPU name such as x86-64-v3
  bool optimize = true;
};

/// Fails, naming what is valid, when the chosen CPU cannot be generated for.
llvm::Error checkCpu(const CpuOptions &options);

/// The kernels that suit the chosen CPU.
llvm::Expected<KernelShape> kernelShape(const CpuOptions &options);

/// Translates and optimises. The module must be in the phase `llvm`.
llvm::Error emitLLVM(mlir::ModuleOp module, const CpuOptions &options, llvm::raw_pwrite_stream &os);
llvm::Error emitObject(mlir::ModuleOp module, const CpuOptions &options, llvm::raw_pwrite_stream &os);

/// Links an object with the run-time. Calls the linker with an argument vector.
llvm::Error linkExecutable(llvm::StringRef object, llvm::StringRef output);

} // namespace farskip

#endif
