// Passes of the phase `overlapped`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_OVERLAP_PASSES_H
#define FARSKIP_PASSES_OVERLAP_PASSES_H

#include "dialects/Moe/MoeOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace farskip {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Overlap/Passes.h.inc"
} // namespace farskip

#endif
