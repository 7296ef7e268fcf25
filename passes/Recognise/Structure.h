// What values of the onnx dialect are, told by structure: views, constants, a router's choice.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_STRUCTURE_H
#define FARSKIP_PASSES_RECOGNISE_STRUCTURE_H

#include "dialects/Onnx/OnnxOps.h"

namespace farskip {

/// The value of which `value` holds the same elements in the same row-major order; null when it is no such view.
mlir::Value viewed(mlir::Value value, SymbolicShapes &shapes);
/// Looks through all views.
mlir::Value baseOfViews(mlir::Value value, SymbolicShapes &shapes);
/// Looks through views, through casts from integer to integer or from float to float, and through corrections that are
/// proven to change nothing (of negative indices, and of experts' numbers out of range).
mlir::Value baseOfCasts(mlir::Value value, SymbolicShapes &shapes);

/// The number that every element of `value` is, however it is made.
std::optional<double> splatOf(mlir::Value value, SymbolicShapes &shapes);
/// The only element of a constant integer.
std::optional<int64_t> integerOf(mlir::Value value, SymbolicShapes &shapes);
/// A constant, or a weight of the model.
bool isConstant(mlir::Value value);
/// A whole constant axis [0, 1, 2, …) of `count` elements.
bool isIota(mlir::Value value, int64_t count, SymbolicShapes &shapes);

/// [0, 1, 2, …) of `count` elements, counted by `Range` or constant.
bool isRange(mlir::Value value, const SymbolicExpr &count, SymbolicShapes &shapes);
/// Proven to be false everywhere.
bool isFalse(mlir::Value value, SymbolicShapes &shapes);
/// Parameters of the model: a constant, or made of one constant by casts and changes of layout.
bool isParameter(mlir::Value value);

/// `axis` counted from the front.
inline int64_t fromFront(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

/// A router's choice: for each token `slots` experts out of `count`.
struct Selection {
  mlir::Value experts; ///< integers, tokens × slots in row-major order, in any shape
  int64_t slots, count;
  /// A token's experts are proven to differ (where its scores are no NaN and not all minus infinity).
  bool distinct;
};
/// Proves that `experts` (views and casts of it) are the places of the greatest elements of rows.
std::optional<Selection> selectionOf(mlir::Value experts, SymbolicShapes &shapes);

/// A part of a whole along an axis: of `Split`, `Slice` or `Gather` with known bounds, one element long.
struct Part {
  mlir::Value whole;
  int64_t axis, index;
};
/// `value`, seen through views, as one element of a larger tensor along one axis.
std::optional<Part> partOf(mlir::Value value, SymbolicShapes &shapes);

} // namespace farskip

#endif
