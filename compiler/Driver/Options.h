// The command line of the compiler driver (`farskip-opt model.onnx …`).
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_DRIVER_OPTIONS_H
#define FARSKIP_COMPILER_DRIVER_OPTIONS_H

#include "compiler/Phases.h"
#include "compiler/Target/Cpu.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace farskip {

enum class Emit { Executable, Mlir, LLVM, Object, Onnx, Plan };

struct DriverOptions {
  std::string input, output;
  Emit emit = Emit::Executable;
  std::optional<Phase> compileTo;
  int64_t ranks = 1;
  std::string attention = "data", experts = "expert";
  bool overlap = true;
  std::string planFormat; ///< text or json; empty is text
  std::string farskip = "none", farskipPart = "both";
  CpuOptions cpu;
  std::vector<std::string> allowExternalDirs;
  bool strictExternalData = false;
  bool help = false, version = false;
};

/// Exit codes of the compiler.
enum ExitCode { kOk = 0, kModelError = 1, kUsage = 64, kInternal = 70, kIo = 74 };

/// Parses everything after the program's name. An error names the valid options or values.
llvm::Expected<DriverOptions> parseDriverOptions(llvm::ArrayRef<llvm::StringRef> arguments);

llvm::StringRef driverHelp();

} // namespace farskip

#endif
