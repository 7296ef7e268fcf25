// farskip-opt: the compiler driver on .onnx, an mlir-opt with our dialects and passes on .mlir.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/Driver.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"

using namespace farskip;

/// The input decides, never the name of the output: MLIR, or `-` for the standard input, is mlir-opt's.
static bool isForDriver(llvm::ArrayRef<llvm::StringRef> arguments) {
  if (arguments.empty())
    return true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (argument == "-o")
      ++i;
    else if (argument == "-" || !argument.starts_with("-"))
      return argument != "-" && !argument.ends_with(".mlir") && !argument.ends_with(".mlirbc");
  }
  return arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "--version";
}

static int runMlirOpt(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  registerFarskipDialects(registry);
  registerFarskipPasses();
  registerPhasePipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "farskip-opt: MLIR passes and pipelines\n", registry));
}

int main(int argc, char **argv) {
  llvm::SmallVector<llvm::StringRef> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "--help-mlir") {
    argv[1] = const_cast<char *>("--help");
    return runMlirOpt(argc, argv);
  }
  if (!isForDriver(arguments))
    return runMlirOpt(argc, argv);
  llvm::InitLLVM init(argc, argv);
  auto options = parseDriverOptions(arguments);
  if (!options) {
    llvm::errs() << "error: " << llvm::toString(options.takeError()) << "\n";
    return kUsage;
  }
  if (options->help) {
    llvm::outs() << driverHelp();
    return kOk;
  }
  if (options->version) {
    llvm::outs() << "farskip-opt 0.1.0 (LLVM " LLVM_VERSION_STRING ")\n";
    return kOk;
  }
  return runDriver(*options);
}
