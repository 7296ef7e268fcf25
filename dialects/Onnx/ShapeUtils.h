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

/// All operands have one element type.
mlir::LogicalResult sameTypes(mlir::Operation *op);

/// The element type is one of `kinds`: f float, i integer, b bool.
mlir::LogicalResult checkKind(mlir::Operation *op, mlir::Value value, llvm::StringRef kinds);

/// Result 0 is like operand 0, whose element type is one of `kinds`.
mlir::LogicalResult inferUnary(mlir::Operation *op, SymbolicShapes &shapes, llvm::StringRef kinds);

/// The element type with this number in onnx.proto; null when it is not supported.
mlir::Type castType(mlir::MLIRContext *context, int64_t to);

/// `axis` in [-rank, rank) made non-negative; diagnoses what is outside.
mlir::FailureOr<int64_t> normalizeAxis(mlir::Operation *op, int64_t axis, int64_t rank);

/// Fails unless `value` has between `least` and `most` dimensions.
mlir::LogicalResult checkRank(mlir::Operation *op, SymbolicShapes &shapes, mlir::Value value, llvm::StringRef what,
                              int64_t least, int64_t most);

/// The rank that the model declares for a result, where the operands do not say it; fails with a diagnostic when it
/// declares none.
mlir::FailureOr<int64_t> declaredRank(mlir::Operation *op, mlir::Value result);

/// `result` gets `rank` extents that only the run knows.
void setUnknown(SymbolicShapes &shapes, mlir::Value result, mlir::Type element, int64_t rank);

/// The rank of a result that has `rank` axes less (or, `added`, more) than it has entries in `axes`, which only the
/// run knows.
mlir::FailureOr<int64_t> rankByAxes(mlir::Operation *op, SymbolicShapes &shapes, mlir::Value axes, int64_t rank,
                                    bool added);

/// Fails when two extents can never be equal.
mlir::LogicalResult checkSame(mlir::Operation *op, SymbolicShapes &shapes, const SymbolicExpr &have,
                              const SymbolicExpr &want, llvm::StringRef what);

/// `width` cut into `heads` equal parts; the run has to check it where only the run knows it.
mlir::FailureOr<SymbolicExpr> headSize(mlir::Operation *op, SymbolicShapes &shapes, const SymbolicExpr &width,
                                       int64_t heads, llvm::StringRef what);

} // namespace farskip::onnx

#endif
