// Lowering of matrix products.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace mlir;

namespace farskip {

/// One FMA chain over K per element, from zero, in f32 for narrower floats: the same bits for a row whatever the
/// others.
static LogicalResult lowerMatMul(onnx::MatMulOp op, OnnxLowering &to) {
  Dims a(to.shapes.shape(op.getA())), b(to.shapes.shape(op.getB())), y(to.shapes.shape(op.getY()));
  Value left = to.value(op.getA()), right = to.value(op.getB());
  bool vectorA = a.size() == 1, vectorB = b.size() == 1;
  Dims matrixA = a, matrixB = b, matrixY = y;
  if (vectorA) {
    matrixA.insert(matrixA.begin(), SymbolicExpr(1));
    matrixY.insert(matrixY.end() - (vectorB ? 0 : 1), SymbolicExpr(1));
  }
  if (vectorB) {
    matrixB.push_back(SymbolicExpr(1));
    matrixY.push_back(SymbolicExpr(1));
  }
  left = to.reshape(left, a, matrixA);
  right = to.reshape(right, b, matrixB);
  to.set(op.getY(), to.reshape(to.matmul(left, matrixA, right, matrixB, matrixY), matrixY, y));
  return success();
}

void populateMatMulLowerings(OnnxLoweringRegistry &registry) { registry.add<onnx::MatMulOp>(lowerMatMul); }

} // namespace farskip
