// The ways in which exporters spell a mixture-of-experts block.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_EXPERTFORMS_H
#define FARSKIP_PASSES_RECOGNISE_EXPERTFORMS_H

#include "dialects/Moe/MoeOps.h"
#include "dialects/Onnx/OnnxOps.h"
#include "mlir/IR/Builders.h"

namespace farskip {

/// Why a rule gave up, and where.
struct FormMiss {
  mlir::Operation *op = nullptr;
  std::string why;
};

/// What a form's rule works with; `shapes` knows the values that the function had before the pass.
struct RaiseContext {
  mlir::OpBuilder builder;
  SymbolicShapes &shapes;
  /// The name of the form that is being tried.
  llvm::StringRef form;
  /// Of the rule that came furthest at the current root.
  FormMiss miss;
  /// What failed attempts built: `shapes` still knows the values, so they live until the pass ends.
  std::vector<std::unique_ptr<mlir::Region>> discarded;
};

/// Tries to see `root` as the last operation of a mixture-of-experts block in one form. On success the uses of its
/// result are replaced; what it was computed from is left for dead-code elimination.
using ExpertForm = bool (*)(mlir::Operation *root, RaiseContext &context);

bool raiseMsMoe(mlir::Operation *root, RaiseContext &context);
bool raiseMsQMoe(mlir::Operation *root, RaiseContext &context);
/// Every pair of a token and a slot at once, with the expert's weights gathered for each.
bool raiseBatched(mlir::Operation *root, RaiseContext &context);
/// Expert after expert on the tokens that chose it.
bool raiseExpertLoop(mlir::Operation *root, RaiseContext &context);
/// Pairs sorted by expert, each expert on its part of them.
bool raiseSorted(mlir::Operation *root, RaiseContext &context);
/// Every expert on every token, in one batched product.
bool raiseDense(mlir::Operation *root, RaiseContext &context);
/// Every expert on every token, one after the other.
bool raiseDenseLoop(mlir::Operation *root, RaiseContext &context);

} // namespace farskip

#endif
