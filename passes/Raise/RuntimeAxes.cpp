// Axes that only the run knows.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/RuntimeAxes.h"
#include "passes/Raise/IndexMath.h"

using namespace mlir;

namespace farskip {

RuntimeAxes runtimeAxes(OnnxLowering &to, Value axes, int64_t rank) {
  OpBuilder &b = to.builder;
  Value count = to.sizeValue(to.shapes.shape(axes)[0]), list = to.value(axes), zero = to.index(0),
        extent = to.index(rank);
  Value no = arith::ConstantOp::create(b, to.loc(), b.getBoolAttr(false));
  SmallVector<Value> numbers;
  for (int64_t axis = 0; axis < rank; ++axis)
    numbers.push_back(to.index(axis));
  SmallVector<Value> init(rank, no);
  SmallVector<Value> flags =
      to.loops(count, init, [&](OpBuilder &in, Location at, ArrayRef<Value> i, ValueRange carried) {
        Value given = tensor::ExtractOp::create(in, at, list, i);
        Value axis = OnnxLowering::wrapIndex(in, at, given, extent);
        Value low = arith::CmpIOp::create(in, at, arith::CmpIPredicate::sge, axis, zero);
        Value high = arith::CmpIOp::create(in, at, arith::CmpIPredicate::slt, axis, extent);
        to.check(arith::AndIOp::create(in, at, low, high), "axis {0} is outside the rank {1}", {axis, extent});
        SmallVector<Value> next;
        for (auto [number, flag] : llvm::zip(numbers, carried)) {
          Value hit = arith::CmpIOp::create(in, at, arith::CmpIPredicate::eq, axis, number);
          next.push_back(arith::OrIOp::create(in, at, flag, hit));
        }
        return next;
      });
  Value set = zero;
  for (Value flag : flags)
    set = compute<arith::AddIOp>(to, set, select(to, flag, to.index(1), zero));
  to.check(compare(to, arith::CmpIPredicate::eq, set, count), "an axis is given twice");
  return {flags, compare(to, arith::CmpIPredicate::eq, count, zero)};
}

SmallVector<Value> keptExtents(OnnxLowering &to, ArrayRef<Value> flags, ArrayRef<Value> extents, int64_t count) {
  Value zero = to.index(0), one = to.index(1), position = zero;
  SmallVector<Value> kept(count, one);
  for (auto [flag, extent] : llvm::zip(flags, extents)) {
    // A flagged axis does not move the position: the next one that stays writes over it.
    for (int64_t k = 0; k < count; ++k)
      kept[k] = select(to, compare(to, arith::CmpIPredicate::eq, position, to.index(k)),
                       select(to, flag, kept[k], extent), kept[k]);
    position = compute<arith::AddIOp>(to, position, select(to, flag, zero, one));
  }
  Value wanted = to.index(count);
  to.check(compare(to, arith::CmpIPredicate::eq, position, wanted), "the result has rank {0}, wanted {1}",
           {position, wanted});
  return kept;
}

Value reshapeTo(OnnxLowering &to, Value tensor, RankedTensorType type, ArrayRef<Value> extents) {
  auto shapeType = RankedTensorType::get({static_cast<int64_t>(extents.size())}, to.builder.getIndexType());
  Value shape =
      extents.empty()
          ? tensor::EmptyOp::create(to.builder, to.loc(), shapeType.getShape(), shapeType.getElementType()).getResult()
          : tensor::FromElementsOp::create(to.builder, to.loc(), shapeType, extents);
  return tensor::ReshapeOp::create(to.builder, to.loc(), type, tensor, shape);
}

} // namespace farskip
