// Arithmetic on index values, for lowerings whose extents only the run knows.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RAISE_INDEXMATH_H
#define FARSKIP_PASSES_RAISE_INDEXMATH_H

#include "passes/Raise/OnnxLowering.h"

namespace farskip {

/// Element `i` of a 1-D integer operand (or the only one of a scalar) as an index: the tracked expression, else read.
inline mlir::Value element(OnnxLowering &to, mlir::Value onnx, int64_t i) {
  if (const Dims *known = to.shapes.contents(onnx))
    return to.sizeValue((*known)[i]);
  mlir::OpBuilder &b = to.builder;
  llvm::SmallVector<mlir::Value> at(to.shapes.rank(onnx), to.index(i));
  mlir::Value scalar = mlir::tensor::ExtractOp::create(b, to.loc(), to.value(onnx), at);
  return mlir::arith::IndexCastOp::create(b, to.loc(), b.getIndexType(), scalar);
}

inline mlir::Value compare(OnnxLowering &to, mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
  return mlir::arith::CmpIOp::create(to.builder, to.loc(), predicate, a, b);
}
inline mlir::Value select(OnnxLowering &to, mlir::Value condition, mlir::Value a, mlir::Value b) {
  return mlir::arith::SelectOp::create(to.builder, to.loc(), condition, a, b);
}
template <typename OpT> mlir::Value compute(OnnxLowering &to, mlir::Value a, mlir::Value b) {
  return OpT::create(to.builder, to.loc(), a, b);
}

/// A dimension whose symbol is the result's own extent is only known from the operands: `own` says which.
inline bool isOwn(OnnxLowering &to, const SymbolicExpr &dim, mlir::Value result) {
  std::optional<SymbolicExpr::Symbol> symbol = dim.asSymbol();
  return symbol && to.shapes.definition(*symbol).kind == SymbolDefinition::Kind::Extent &&
         to.shapes.definition(*symbol).value == result;
}

} // namespace farskip

#endif
