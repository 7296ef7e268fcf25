// Passes that recognise what the exporter's operators mean.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_PASSES_H
#define FARSKIP_PASSES_RECOGNISE_PASSES_H

#include "dialects/Moe/MoeOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace farskip {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Recognise/Passes.h.inc"
} // namespace farskip

#endif
