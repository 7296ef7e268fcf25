// The phases of a compilation and the pass pipelines between them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_PHASES_H
#define FARSKIP_COMPILER_PHASES_H

#include "compiler/Target/KernelShape.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace farskip {

/// In order; `--compile-to` takes their names.
enum class Phase { Import, Model, Connected, Raised, Sharded, Overlapped, Buffers, LLVM };

llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// "import, model, …", for messages.
std::string phaseNames();

/// What the pipelines are built for.
struct PhaseOptions {
  std::string farskip = "none";     ///< layers to put into FarSkip form
  std::string farskipPart = "both"; ///< both, attention or moe
  int64_t ranks = 1;
  std::string attention = "data"; ///< data or tensor
  bool overlap = true;            ///< exchanges run under computation
  KernelShape kernels;            ///< of the CPU's registers
};

/// Adds the passes that lead from the phase before to `phase`.
void buildPhase(mlir::OpPassManager &passes, Phase phase, const PhaseOptions &options = {});

/// The first part of the phase `raised`: blocks are recognised and the batch is spread, all else is still onnx
/// operators.
void buildRecognition(mlir::OpPassManager &passes, const PhaseOptions &options);

/// Registers one pipeline per phase, `farskip-to-<phase>`, and all passes and dialects of the compiler.
void registerPhasePipelines();
void registerFarskipPasses();
void registerFarskipDialects(mlir::DialectRegistry &registry);

} // namespace farskip

#endif
