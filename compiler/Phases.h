// The phases of a compilation and the pass pipelines between them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_PHASES_H
#define FARSKIP_COMPILER_PHASES_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace farskip {

/// In order; `--compile-to` takes their names.
enum class Phase { Import, Model, Connected, Raised, Sharded, Overlapped, Buffers, LLVM };

llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// "import, model, …", for messages.
std::string phaseNames();

/// Adds the passes that lead from the phase before to `phase`.
void buildPhase(mlir::OpPassManager &passes, Phase phase);

/// Registers one pipeline per phase, `farskip-to-<phase>`, and all passes and dialects of the compiler.
void registerPhasePipelines();
void registerFarskipPasses();
void registerFarskipDialects(mlir::DialectRegistry &registry);

} // namespace farskip

#endif
