// Shapes of rotary positions.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

static LogicalResult inferRotary(Operation *op, SymbolicShapes &shapes, Value x, Value cosines, Value sines,
                                 Value positions, int64_t heads, int64_t rotated) {
  Dims dims(shapes.shape(x));
  if (failed(checkRank(op, shapes, x, "the input", 3, 4)) ||
      failed(checkRank(op, shapes, cosines, "the cosines", positions ? 2 : 3, positions ? 2 : 3)))
    return failure();
  if (!isa<FloatType>(elementType(x)) || elementType(cosines) != elementType(x) || elementType(sines) != elementType(x))
    return op->emitOpError() << "input, cosines and sines must have one float type";
  std::optional<int64_t> half = shapes.shape(cosines).back().constant();
  if (!half || *half < 1)
    return op->emitOpError() << "the width of the cosines is not known before the run";
  if (rotated && rotated != 2 * *half)
    return op->emitOpError() << "rotary_embedding_dim is " << rotated << ", the cosines are for " << 2 * *half;
  std::optional<int64_t> width = dims.back().constant();
  if (!width || heads < 0)
    return op->emitOpError() << "the width of the input is not known before the run";
  int64_t size = *width;
  if (dims.size() == 3)
    size = heads ? *width / heads : 2 * *half;
  if (size < 2 * *half || *width % size)
    return op->emitOpError() << "an input of width " << *width << " does not fit cosines for " << 2 * *half;
  if (positions) {
    int64_t rank = shapes.rank(positions);
    bool offset = rank == 1 && shapes.elements(positions).isConstant(1);
    if (!offset && rank != 2)
      return op->emitOpError() << "positions have shape " << shapes.str(shapes.shape(positions))
                               << ", wanted [1] or [batch, sequence]";
  }
  return inferLike(op, shapes, x);
}

LogicalResult RotaryEmbeddingOp::inferShapes(SymbolicShapes &shapes) {
  if (shapes.rank(getX()) == 3 && !getNumHeads())
    return emitOpError() << "num_heads is required for an input of rank 3";
  return inferRotary(*this, shapes, getX(), getCosCache(), getSinCache(), getPositionIds(), getNumHeads(),
                     getRotaryEmbeddingDim());
}
LogicalResult MsRotaryEmbeddingOp::inferShapes(SymbolicShapes &shapes) {
  if (getIsPackedBatching())
    return emitOpError() << "is_packed_batching is not supported";
  if (getScale().convertToFloat() != 1.0f)
    return emitOpError() << "scale must be 1";
  return inferRotary(*this, shapes, getInput(), getCosCache(), getSinCache(), getPositionIds(), getNumHeads(),
                     getRotaryEmbeddingDim());
}

} // namespace farskip::onnx
