// Weights of all experts for every token: those of the chosen ones, zero for the others.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_DENSEWEIGHTS_H
#define FARSKIP_PASSES_RECOGNISE_DENSEWEIGHTS_H

#include "passes/Recognise/HitRows.h"
#include "passes/Recognise/RowTracer.h"

namespace farskip {

struct DenseWeights {
  Selection selection;
  mlir::Value weights; ///< of the chosen experts, tokens × slots in some view
  /// What is done to `weights` before they are spread, innermost last; each maps the filling of the rest to zero.
  llvm::SmallVector<mlir::Operation *> applied;
  Axes axes;                     ///< Token, Expert, …, or without Expert when `expert` is set
  std::optional<int64_t> expert; ///< these are the weights of this one
};
/// Sees `value` as weights of all experts, or of one, for every token. Uses the tracer to follow reshapes.
std::optional<DenseWeights> denseWeights(mlir::Value value, RowTracer &tracer, SymbolicShapes &shapes);

/// The chosen experts' weights, built with `graph`.
mlir::Value chosenWeights(const DenseWeights &dense, GraphBuilder &graph);

} // namespace farskip

#endif
