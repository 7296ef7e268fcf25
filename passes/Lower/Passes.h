// Passes of the phases `buffers` and `llvm`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_LOWER_PASSES_H
#define FARSKIP_PASSES_LOWER_PASSES_H

#include "dialects/Moe/MoeOps.h"
#include "dialects/Rt/RtOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace farskip {

/// The function that the run-time calls, once per run.
inline constexpr llvm::StringLiteral kEntryName = "farskip_model_run";
/// Module attribute: what the weights file holds (see bind-program).
inline constexpr llvm::StringLiteral kWeightsAttr = "rt.weights";
/// A piece of the weights file: numbers of the module attribute, in this order.
struct WeightEntry {
  int64_t file, offset, length; ///< where the bytes stand in the model's files
  int64_t place, bytes;         ///< where they go in the weights file
  /// Matrices rows x columns of items of `itemBytes`, packed into panels of `block` columns (see moe.pack); block is 0
  /// for bytes that are copied as they are.
  int64_t itemBytes = 0, rows = 0, columns = 0, block = 0;
  int64_t transposed = 0; ///< the model has the matrices as columns x rows

  static std::vector<WeightEntry> table(mlir::ModuleOp module);
  static void setTable(mlir::ModuleOp module, llvm::ArrayRef<WeightEntry> entries);
};
/// Bytes before the first weight in the weights file.
inline constexpr int64_t kWeightsHeader = 64;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Lower/Passes.h.inc"
} // namespace farskip

#endif
