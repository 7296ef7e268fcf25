// What the shape functions of the operators share.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_SHAPEUTILS_H
#define FARSKIP_DIALECTS_ONNX_SHAPEUTILS_H

#include "dialects/Onnx/OnnxOps.h"

namespace farskip::onnx {

inline mlir::Type elementType(mlir::Value value) { return mlir::getElementTypeOrSelf(value.getType()); }

/// Broadcasts all operands; the result has `element`, or the first operand's element type when null.
mlir::LogicalResult inferElementwise(mlir::Operation *op, SymbolicShapes &shapes, mlir::Type element = {});

/// Result 0 is like `value`.
inline mlir::LogicalResult inferLike(mlir::Operation *op, SymbolicShapes &shapes, mlir::Value value) {
  shapes.set(op->getResult(0), elementType(value), Dims(shapes.shape(value)));
  return mlir::success();
}

/// `axis` in [-rank, rank) made non-negative; diagnoses what is outside.
mlir::FailureOr<int64_t> normalizeAxis(mlir::Operation *op, int64_t axis, int64_t rank);

/// Fails unless `value` has between `least` and `most` dimensions.
mlir::LogicalResult checkRank(mlir::Operation *op, SymbolicShapes &shapes, mlir::Value value, llvm::StringRef what,
                              int64_t least, int64_t most);

} // namespace farskip::onnx

#endif
