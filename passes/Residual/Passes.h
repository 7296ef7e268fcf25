// Passes of the phases `model` and `connected`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RESIDUAL_PASSES_H
#define FARSKIP_PASSES_RESIDUAL_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace farskip {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Residual/Passes.h.inc"
} // namespace farskip

#endif
