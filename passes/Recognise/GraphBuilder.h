// Builds onnx operations whose shapes are known at once.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_GRAPHBUILDER_H
#define FARSKIP_PASSES_RECOGNISE_GRAPHBUILDER_H

#include "dialects/Onnx/OnnxOps.h"
#include "mlir/IR/Builders.h"

namespace farskip {

/// Each function creates one operation at the builder's place and derives its shape. Results of a wrong combination of
/// operands are unspecified: the caller has checked them.
class GraphBuilder {
public:
  GraphBuilder(mlir::OpBuilder &builder, mlir::Location location, SymbolicShapes &shapes)
      : builder(builder), location(location), shapes(shapes) {}

  /// An operation with one operand per field of the standard; null for what is omitted.
  mlir::Operation *create(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {}, unsigned results = 1);
  mlir::Value unary(llvm::StringRef name, mlir::Value x) { return create(name, {x})->getResult(0); }
  mlir::Value binary(llvm::StringRef name, mlir::Value x, mlir::Value y) { return create(name, {x, y})->getResult(0); }

  mlir::Value integers(llvm::ArrayRef<int64_t> numbers);
  /// A scalar of a float type.
  mlir::Value number(mlir::Type element, double number);
  /// Float to float; the same value when there is nothing to do.
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value softmax(mlir::Value x, int64_t axis);
  mlir::Value slice(mlir::Value x, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  mlir::NamedAttribute attribute(llvm::StringRef name, int64_t number) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(number));
  }

  mlir::OpBuilder &builder;
  mlir::Location location;
  SymbolicShapes &shapes;
};

} // namespace farskip

#endif
