// Passes that recognise what the exporter's operators mean.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_PASSES_H
#define FARSKIP_PASSES_RECOGNISE_PASSES_H

#include "dialects/Moe/MoeOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace farskip {
/// On moe.experts: the form in which the model spells it.
constexpr llvm::StringLiteral kFormAttr = "farskip.form";
/// On the last operation of what looked like a block and was not raised: which form's rule gave up, where and why.
constexpr llvm::StringLiteral kMissedAttr = "farskip.missed";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Recognise/Passes.h.inc"
} // namespace farskip

#endif
