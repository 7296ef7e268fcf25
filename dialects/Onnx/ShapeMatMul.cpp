// Shapes of matrix products.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

LogicalResult MatMulOp::inferShapes(SymbolicShapes &shapes) {
  Dims a(shapes.shape(getA())), b(shapes.shape(getB()));
  if (elementType(getA()) != elementType(getB()))
    return emitOpError() << "operands have different element types " << elementType(getA()) << " and "
                         << elementType(getB());
  if (elementType(getA()).isInteger(1))
    return emitOpError() << "does not take element type bool";
  if (a.empty() || b.empty())
    return emitOpError() << "a scalar operand; wanted rank 1 or more";
  bool vectorA = a.size() == 1, vectorB = b.size() == 1;
  if (vectorA)
    a.insert(a.begin(), SymbolicExpr(1));
  if (vectorB)
    b.push_back(SymbolicExpr(1));
  const SymbolicExpr &inner = a.back(), &outer = b[b.size() - 2];
  if (inner.isNever(outer))
    return emitOpError() << "inner dimensions " << shapes.str(inner) << " and " << shapes.str(outer) << " differ";
  std::optional<Dims> dims = shapes.broadcast(ArrayRef(a).drop_back(2), ArrayRef(b).drop_back(2));
  if (!dims)
    return emitOpError() << "cannot broadcast shapes " << shapes.str(a) << " and " << shapes.str(b);
  if (!vectorA)
    dims->push_back(a[a.size() - 2]);
  if (!vectorB)
    dims->push_back(b.back());
  shapes.set(getY(), elementType(getA()), std::move(*dims));
  return success();
}

} // namespace farskip::onnx
