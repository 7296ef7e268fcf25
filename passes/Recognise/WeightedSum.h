// The end of a block: sums over slots, and additions of rows to the rows of tokens.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_WEIGHTEDSUM_H
#define FARSKIP_PASSES_RECOGNISE_WEIGHTEDSUM_H

#include "passes/Recognise/Structure.h"

namespace farskip {

/// y[t] = Σ_k weights[t, k] · value[t, k], found at the operation that sums.
struct WeightedSum {
  mlir::Value value;   ///< tokens × slots × features in row-major order, in any shape
  mlir::Value weights; ///< tokens × slots
  SymbolicExpr tokens;
  int64_t slots, width;
};

/// The token of each pair of a token and a slot, token after token.
struct PairTokens {
  SymbolicExpr tokens;
  int64_t slots;
};
std::optional<PairTokens> pairTokens(mlir::Value index, SymbolicShapes &shapes);

/// Sees `root` as the sum over the slots of products with weights.
std::optional<WeightedSum> weightedSum(mlir::Operation *root, SymbolicShapes &shapes);

/// The axes of a sum over slots, before it is known what is summed: value is tokens × slots × width.
std::optional<WeightedSum> slotSum(mlir::Operation *root, SymbolicShapes &shapes);

/// An addition of whole rows: `updates` are added to the rows of `sum` that `index` names.
struct RowScatter {
  mlir::Value sum; ///< before the addition
  mlir::Value index, updates;
  bool adds; ///< rows named twice count twice; otherwise the last one counts
};
/// Sees `value` as such an addition, however it is spelled.
std::optional<RowScatter> rowScatter(mlir::Value value, SymbolicShapes &shapes);

} // namespace farskip

#endif
