// The ways in which exporters spell a mixture-of-experts block.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_EXPERTFORMS_H
#define FARSKIP_PASSES_RECOGNISE_EXPERTFORMS_H

#include "dialects/Moe/MoeOps.h"
#include "dialects/Onnx/OnnxOps.h"
#include "mlir/IR/Builders.h"

namespace farskip {

/// What a form's rule works with; `shapes` knows the values that the function had before the pass.
struct RaiseContext {
  mlir::OpBuilder builder;
  SymbolicShapes &shapes;
};

/// Tries to see `root` as the last operation of a mixture-of-experts block in one form. On success the uses of its
/// result are replaced; what it was computed from is left for dead-code elimination.
using ExpertForm = bool (*)(mlir::Operation *root, RaiseContext &context);

bool raiseMsMoe(mlir::Operation *root, RaiseContext &context);
bool raiseMsQMoe(mlir::Operation *root, RaiseContext &context);

} // namespace farskip

#endif
