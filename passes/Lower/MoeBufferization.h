// How the operations of the moe dialect are put on buffers.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_LOWER_MOEBUFFERIZATION_H
#define FARSKIP_PASSES_LOWER_MOEBUFFERIZATION_H

#include "mlir/IR/DialectRegistry.h"

namespace farskip {

/// An exchange becomes a start and a wait of the rt dialect; a start leaves its wait where the program has it. The
/// tensor that an exchange fills is bufferized in place from its init on, and the wait reads every buffer of the
/// exchange again, so that none is written or reused while it is under way.
void registerMoeBufferization(mlir::DialectRegistry &registry);

} // namespace farskip

#endif
