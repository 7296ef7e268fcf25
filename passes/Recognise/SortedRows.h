// Pairs of a token and a slot sorted by expert, and the part of them that belongs to each expert.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_SORTEDROWS_H
#define FARSKIP_PASSES_RECOGNISE_SORTEDROWS_H

#include "passes/Recognise/HitRows.h"

namespace farskip {

/// All pairs token · slots + slot, in the order of their experts.
struct SortedPairs {
  mlir::Value order, experts; ///< both results of the TopK that sorts: the pairs' numbers, their experts
  Selection selection;
};
/// Sees `index` as the numbers of the pairs in sorted order.
std::optional<SortedPairs> sortedPairs(mlir::Value index, SymbolicShapes &shapes);
/// Sees `index` as the place of each pair in the sorted order.
std::optional<SortedPairs> inverseOrder(mlir::Value index, SymbolicShapes &shapes);
/// Sees `index` as the token of each pair in sorted order.
std::optional<SortedPairs> sortedTokens(mlir::Value index, SymbolicShapes &shapes);

/// Sees `index` as the expert of each pair in sorted order.
bool isSortedExperts(mlir::Value index, const SortedPairs &pairs, SymbolicShapes &shapes);
/// Proves that `counts` tells how many pairs chose each expert.
bool isPairCount(mlir::Value counts, const SortedPairs &pairs, SymbolicShapes &shapes);
/// The sorted rows of which `part` has those of expert `number`.
mlir::Value rowsOfExpert(mlir::Value part, int64_t number, const SortedPairs &pairs, SymbolicShapes &shapes);

} // namespace farskip

#endif
