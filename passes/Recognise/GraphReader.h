// Reads onnx operations backwards: scalars, scale factors and copies, as the rules of recognition need them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_GRAPHREADER_H
#define FARSKIP_PASSES_RECOGNISE_GRAPHREADER_H

#include "dialects/Onnx/OnnxOps.h"

namespace farskip {

/// What every function proves it proves from operations, their operands and symbolic shapes; names never count.
class GraphReader {
public:
  explicit GraphReader(SymbolicShapes &shapes) : shapes(shapes) {}

  bool sameShape(mlir::Value a, mlir::Value b) { return shapes.shape(a) == shapes.shape(b); }

  /// Goes back over operations that give their first operand as it is: identities, and layout operations that keep the
  /// shape.
  mlir::Value copied(mlir::Value value);
  /// The same, and over casts between floats.
  mlir::Value uncast(mlir::Value value);

  /// The number in a float or integer tensor of one element that constants and extents decide.
  std::optional<double> scalar(mlir::Value value);

  /// `value` = `tensor` · `factor`, where the factor is a scalar and the shapes are equal.
  struct Scaled {
    mlir::Value tensor;
    double factor;
  };
  std::optional<Scaled> scaled(mlir::Value value);

  /// Whether a reduction goes over the last axis alone and keeps it.
  template <typename OpT> bool reducesLast(OpT op) {
    return op && op.getKeepdims() && op.getAxes() && isLast(op.getAxes(), shapes.rank(op.getData()));
  }

  SymbolicShapes &shapes;

private:
  bool isLast(mlir::Value axes, int64_t rank);
};

} // namespace farskip

#endif
