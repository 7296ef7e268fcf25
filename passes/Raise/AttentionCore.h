// What the attention operators share when they are raised.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RAISE_ATTENTIONCORE_H
#define FARSKIP_PASSES_RAISE_ATTENTIONCORE_H

#include "passes/Raise/OnnxLowering.h"

namespace farskip {

/// The operands of one `moe.attention`, as lowered tensors; its description has their shapes and meaning.
struct AttentionInputs {
  mlir::Value q, k, v, offsets, lengths, mask, sinks;
  std::optional<double> scale;
  double softcap = 0;
  bool causal = false, smooth = false, qRowsFirst = false, kvRowsFirst = false, rounded = false;
  std::optional<int64_t> left, right;
  llvm::StringRef unseen = "zero";
};

/// Adds a `moe.attention` whose result has the dimensions `dims`.
mlir::Value attention(OnnxLowering &to, const AttentionInputs &inputs, llvm::ArrayRef<SymbolicExpr> dims);

/// Ends the run unless two extents are equal; nothing where that is known.
void requireEqual(OnnxLowering &to, const SymbolicExpr &have, const SymbolicExpr &want, const llvm::Twine &what);

/// Ends the run unless the first three axes of a mask [batch, heads, rows, keys] are 1 or those of the scores.
void requireMaskFits(OnnxLowering &to, llvm::ArrayRef<SymbolicExpr> mask, llvm::ArrayRef<SymbolicExpr> scores,
                     llvm::StringRef name);

/// [a, b, c, d] to [a, c, b, d]; `dims` are those of the result.
mlir::Value swapRowsAndHeads(OnnxLowering &to, mlir::Value tensor, llvm::ArrayRef<SymbolicExpr> dims);

/// Copies `part`, of `rows` rows, into `cache` [batch, heads, rows, size] from row `first` on. `sizes` are the cache's.
mlir::Value insertRows(OnnxLowering &to, mlir::Value part, mlir::Value cache, llvm::ArrayRef<mlir::OpFoldResult> sizes,
                       mlir::OpFoldResult first, mlir::OpFoldResult rows);

/// A vector of i64, one number for each sequence.
mlir::Value perSequence(OnnxLowering &to, const SymbolicExpr &batch, OnnxLowering::IndexBody body);

/// What Attention's output qk_matmul_output holds.
enum class ScoreStage { Product, Capped, Masked, Softmax };

/// The scores themselves [batch, heads, rows, keys], which `attention` never has at once. `dims` are those of the
/// result.
mlir::Value attentionScores(OnnxLowering &to, const AttentionInputs &inputs, ScoreStage stage,
                            llvm::ArrayRef<SymbolicExpr> dims);

/// Reads an integer vector's element as i64.
mlir::Value extractI64(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor, mlir::ValueRange at);

} // namespace farskip

#endif
