// Lowering of TensorScatter.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/AttentionCore.h"

using namespace mlir;

namespace farskip {

/// Row by row along the cache's axis, or in linear mode all rows of a sequence at once.
static LogicalResult lowerTensorScatter(onnx::TensorScatterOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims cache(to.shapes.shape(op.getPastCache())), update(to.shapes.shape(op.getUpdate()));
  int64_t rank = cache.size(), axis = op.getAxis() < 0 ? op.getAxis() + rank : op.getAxis();
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      requireEqual(to, update[i], cache[i], "the extent of update along axis " + Twine(i));
  if (op.getWriteIndices())
    requireEqual(to, to.shapes.elements(op.getWriteIndices()), cache[0], "the number of elements of write_indices");
  Value length = to.sizeValue(cache[axis]), rows = to.sizeValue(update[axis]), zero = to.index(0);
  to.check(arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::sle, rows, length),
           "the update has {0} rows, the cache {1}", {rows, length});
  Value source = to.value(op.getUpdate()), indices = op.getWriteIndices() ? to.value(op.getWriteIndices()) : Value();
  SmallVector<OpFoldResult> extents = to.sizes(update), strides(rank, b.getIndexAttr(1));
  extents[0] = b.getIndexAttr(1);
  bool circular = op.getMode() == "circular";
  SmallVector<Value> loops{to.sizeValue(cache[0])};
  if (circular) {
    extents[axis] = b.getIndexAttr(1);
    loops.push_back(rows);
  }
  Value some = arith::MaxSIOp::create(b, to.loc(), length, to.index(1));
  Value result = to.loops(
      loops, to.value(op.getPastCache()),
      [&](OpBuilder &in, Location loc, ArrayRef<Value> i, ValueRange carried) -> SmallVector<Value> {
        Value first = zero;
        if (indices) {
          Value given = tensor::ExtractOp::create(in, loc, indices, ValueRange{i[0]});
          first = arith::IndexCastOp::create(in, loc, in.getIndexType(), given);
        }
        SmallVector<OpFoldResult> from(rank, in.getIndexAttr(0)), into(rank, in.getIndexAttr(0));
        from[0] = into[0] = i[0];
        if (circular) {
          // The index may be any number: it is taken modulo the length before a row is added, so that nothing wraps.
          Value rest = arith::RemSIOp::create(in, loc, first, some);
          Value negative = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::slt, rest, zero);
          rest = arith::SelectOp::create(in, loc, negative, arith::AddIOp::create(in, loc, rest, some), rest);
          from[axis] = i[1];
          into[axis] = arith::RemSIOp::create(in, loc, arith::AddIOp::create(in, loc, rest, i[1]), some).getResult();
        } else {
          Value last = arith::SubIOp::create(in, loc, length, rows);
          Value fits =
              arith::AndIOp::create(in, loc, arith::CmpIOp::create(in, loc, arith::CmpIPredicate::sge, first, zero),
                                    arith::CmpIOp::create(in, loc, arith::CmpIPredicate::sle, first, last));
          to.check(fits, "write index {0} of sequence {1} leaves no room for {2} rows in a cache of {3}",
                   {first, i[0], rows, length});
          into[axis] = first;
        }
        Value slice = tensor::ExtractSliceOp::create(in, loc, source, from, extents, strides);
        return {tensor::InsertSliceOp::create(in, loc, slice, carried[0], into, extents, strides)};
      })[0];
  to.set(op.getPresentCache(), result);
  return success();
}

void populateTensorScatterLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::TensorScatterOp>(lowerTensorScatter);
}

} // namespace farskip
