// Passes of the phase `raised`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RAISE_PASSES_H
#define FARSKIP_PASSES_RAISE_PASSES_H

#include "dialects/Moe/MoeOps.h"
#include "dialects/Rt/RtOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace farskip {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Raise/Passes.h.inc"
} // namespace farskip

#endif
