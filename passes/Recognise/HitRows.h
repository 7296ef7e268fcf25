// The rows that one expert of a loop works on: where its number is among the experts that the tokens chose.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_HITROWS_H
#define FARSKIP_PASSES_RECOGNISE_HITROWS_H

#include "passes/Recognise/Structure.h"

namespace farskip {

/// What an axis of a mask counts.
enum class Coordinate : char { Unit, Token, Slot, Expert };

/// A tensor of zeros and ones: is the expert of this token and slot that expert?
struct ChoiceMask {
  Selection selection;
  llvm::SmallVector<Coordinate> axes;
  int64_t depth = 0;             ///< number of experts compared with, where an axis is Expert
  std::optional<int64_t> expert; ///< the only one compared with, where no axis is
};
std::optional<ChoiceMask> choiceMask(mlir::Value value, SymbolicShapes &shapes);

/// The pairs of a token and a slot that chose one expert, in the order of a NonZero.
struct HitRows {
  mlir::Value places; ///< result of the NonZero
  ChoiceMask mask;
};
/// Both list the same pairs in the same order.
bool sameRows(const HitRows &a, const HitRows &b);
/// `index` tells the token, or the slot, of each pair.
std::optional<HitRows> hitTokens(mlir::Value index, SymbolicShapes &shapes);
std::optional<HitRows> hitSlots(mlir::Value index, SymbolicShapes &shapes);

/// What is gathered along one axis by `index`: `data` is indexed on `axis`, result axes replace it.
struct RowGather {
  mlir::Value data, index;
  int64_t axis;
  int64_t indexAxes; ///< axes of the result that come from `index`
};
std::optional<RowGather> rowGather(mlir::Value value, SymbolicShapes &shapes);

/// The weights tokens × slots (in some view) of which `value` has the one of each of the rows.
mlir::Value pickedWeights(mlir::Value value, const HitRows &rows, SymbolicShapes &shapes);

} // namespace farskip

#endif
