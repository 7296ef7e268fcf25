// Axes that only the run knows.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RAISE_RUNTIMEAXES_H
#define FARSKIP_PASSES_RAISE_RUNTIMEAXES_H

#include "passes/Raise/OnnxLowering.h"

namespace farskip {

/// Which of `rank` axes are given.
struct RuntimeAxes {
  llvm::SmallVector<mlir::Value> flags; ///< i1, one per axis
  mlir::Value none;                     ///< i1: the list is empty
};

/// Reads a 1-D integer ONNX value; ends the run when an axis is outside [-rank, rank) or given twice.
RuntimeAxes runtimeAxes(OnnxLowering &to, mlir::Value axes, int64_t rank);

/// The extents whose axes are not flagged, in order; ends the run unless there are `count`.
llvm::SmallVector<mlir::Value> keptExtents(OnnxLowering &to, llvm::ArrayRef<mlir::Value> flags,
                                           llvm::ArrayRef<mlir::Value> extents, int64_t count);

/// The same elements with these extents.
mlir::Value reshapeTo(OnnxLowering &to, mlir::Value tensor, mlir::RankedTensorType type,
                      llvm::ArrayRef<mlir::Value> extents);

} // namespace farskip

#endif
