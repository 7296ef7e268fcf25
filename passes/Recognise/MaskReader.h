// Reads what an attention mask says: which keys a row sees by position, and what is left of the mask beside that.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_MASKREADER_H
#define FARSKIP_PASSES_RECOGNISE_MASKREADER_H

#include "passes/Recognise/GraphBuilder.h"
#include "passes/Recognise/GraphReader.h"

namespace farskip {

/// The keys that rows see, as `moe.attend` says it.
struct Visibility {
  mlir::Value mask; ///< i1 or a float to add, of rank 4; null where positions say everything
  bool causal = false, atEnd = false;
  std::optional<int64_t> left;
};

/// A mask as it is spelled.
struct SpelledMask {
  mlir::Value value;    ///< i1, true for what is seen, or a float to add
  bool negated = false; ///< an i1 that is true for what is not seen
  /// What softmax makes of a row whose every key is masked: "mean" of the values (all scores equally low) or "nan".
  llvm::StringRef unseen = "nan";
};

class MaskReader {
public:
  /// `scores` are the dimensions [batch, heads, rows, keys] that masks are spread over.
  MaskReader(GraphReader &reader, llvm::ArrayRef<SymbolicExpr> scores) : reader(reader), scores(scores) {}

  /// A float tensor that is added to scores, as 0 and a very low number where a condition decides.
  SpelledMask added(mlir::Value value);
  /// Where `condition` chooses between a score and `low`; nothing unless `low` is a very low number.
  std::optional<SpelledMask> chosen(mlir::Value condition, mlir::Value low, bool negated);

  /// What the mask says by position is taken out of it. Nothing when it does not fit the scores.
  std::optional<Visibility> visibility(const SpelledMask &mask, GraphBuilder &build);

private:
  /// A tensor whose element is `base` + its index along one axis, counted from the last (0).
  struct Ramp {
    int64_t axis;
    SymbolicExpr base;
  };
  /// A condition, negated or not.
  using Condition = llvm::PointerIntPair<mlir::Value, 1, bool>;

  std::optional<Ramp> ramp(mlir::Value value);
  std::optional<Ramp> countedContents(mlir::Value value);
  void conditions(mlir::Value value, bool negated, llvm::SmallVectorImpl<Condition> &all);
  std::optional<SymbolicExpr> bound(const Condition &condition, bool &upper);
  bool isTrue(mlir::Value value);
  std::optional<double> low(mlir::Value value);
  mlir::Value fitted(mlir::Value mask, GraphBuilder &build);

  GraphReader &reader;
  llvm::ArrayRef<SymbolicExpr> scores;
};

} // namespace farskip

#endif
