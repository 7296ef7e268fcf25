// Passes of the phase `sharded`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_SHARD_PASSES_H
#define FARSKIP_PASSES_SHARD_PASSES_H

#include "dialects/Moe/MoeOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace farskip {

/// Module attribute: one dictionary {kind, name} per collective, by number.
constexpr llvm::StringLiteral kCollectivesAttr = "moe.collectives";

/// Argument and result attribute: the axis along which ranks hold blocks.
constexpr llvm::StringLiteral kShardAxisAttr = "farskip.shard_axis";
/// Module attribute: every rank holds all tokens.
constexpr llvm::StringLiteral kReplicatedAttr = "farskip.replicated";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Shard/Passes.h.inc"
} // namespace farskip

#endif
