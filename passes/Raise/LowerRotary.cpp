// Lowering of rotary positions.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"
#include "passes/Raise/RotateElement.h"

using namespace mlir;

namespace farskip {

namespace {

struct Rotary {
  Value x, cosines, sines, positions; ///< ONNX values; positions may be null: the cosines are [batch, sequence, half]
  bool interleaved;
  int64_t heads;
};

/// Each element of the first 2·half of a head is turned with its partner by the angle of its position.
void lower(OnnxLowering &to, const Rotary &op, Value result) {
  OpBuilder &b = to.builder;
  Dims dims(to.shapes.shape(op.x)), cosDims(to.shapes.shape(op.cosines));
  int64_t half = *cosDims.back().constant();
  // Three axes: [batch, sequence, heads · size]; four: [batch, heads, sequence, size].
  bool flat = dims.size() == 3;
  Dims split = dims;
  if (flat) {
    int64_t width = *dims.back().constant(), size = op.heads ? width / op.heads : 2 * half;
    split = {dims[0], dims[1], SymbolicExpr(width / size), SymbolicExpr(size)};
  }
  int64_t sequence = flat ? 1 : 2;
  Value x = to.reshape(to.value(op.x), dims, split), cosines = to.value(op.cosines), sines = to.value(op.sines);
  Value positions, offset, extent = to.sizeValue(cosDims[0]);
  if (op.positions && to.shapes.rank(op.positions) == 1) {
    Value first = tensor::ExtractOp::create(b, to.loc(), to.value(op.positions), ValueRange{to.index(0)});
    offset = arith::IndexCastOp::create(b, to.loc(), b.getIndexType(), first);
    Value end = arith::AddIOp::create(b, to.loc(), offset, to.sizeValue(split[sequence]));
    Value low = arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::sge, offset, to.index(0));
    Value high = arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::sle, end, extent);
    to.check(arith::AndIOp::create(b, to.loc(), low, high), "positions from {0} to {1} are outside the table of {2}",
             {offset, end, extent});
  } else if (op.positions) {
    Dims given(to.shapes.shape(op.positions)), wanted{split[0], split[sequence]};
    for (int axis : {0, 1}) {
      if (given[axis] == wanted[axis])
        continue;
      Value have = to.sizeValue(given[axis]), want = to.sizeValue(wanted[axis]);
      to.check(arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::eq, have, want),
               "positions have extent {0} along axis " + Twine(axis) + ", wanted {1}", {have, want});
    }
    to.checkIndices(op.positions, extent);
    positions = to.value(op.positions);
  }
  Type element = to.type(op.x).getElementType();
  Value turned = to.generate(split, element, [&](OpBuilder &in, Location at, ArrayRef<Value> i) -> Value {
    auto table = [&](Value angle) {
      SmallVector<Value> where;
      if (offset)
        where = {arith::AddIOp::create(in, at, offset, i[sequence])};
      else if (positions)
        where = {OnnxLowering::wrapIndex(
            in, at, tensor::ExtractOp::create(in, at, positions, ValueRange{i[0], i[sequence]}), extent)};
      else
        where = {i[0], i[sequence]};
      where.push_back(angle);
      return std::pair<Value, Value>(tensor::ExtractOp::create(in, at, cosines, where),
                                     tensor::ExtractOp::create(in, at, sines, where));
    };
    auto load = [&](Value d) -> Value { return tensor::ExtractOp::create(in, at, x, ValueRange{i[0], i[1], i[2], d}); };
    return rotateElement(in, at, i[3], arith::ConstantIndexOp::create(in, at, half), op.interleaved, load, table);
  });
  to.set(result, to.reshape(turned, split, dims));
}

LogicalResult lowerStandard(onnx::RotaryEmbeddingOp op, OnnxLowering &to) {
  lower(
      to,
      {op.getX(), op.getCosCache(), op.getSinCache(), op.getPositionIds(), op.getInterleaved() != 0, op.getNumHeads()},
      op.getY());
  return success();
}

LogicalResult lowerMs(onnx::MsRotaryEmbeddingOp op, OnnxLowering &to) {
  lower(to,
        {op.getInput(), op.getCosCache(), op.getSinCache(), op.getPositionIds(), op.getInterleaved() != 0,
         op.getNumHeads()},
        op.getOutput());
  return success();
}

} // namespace

void populateRotaryLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::RotaryEmbeddingOp>(lowerStandard);
  registry.add<onnx::MsRotaryEmbeddingOp>(lowerMs);
}

} // namespace farskip
