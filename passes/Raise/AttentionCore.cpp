// What the attention operators share when they are raised.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/AttentionCore.h"
#include "dialects/Moe/MoeOps.h"

using namespace mlir;

namespace farskip {

/// The kernel's scratch memory grows with the size of a head and lies on a thread's stack.
static constexpr int64_t kMaxHeadSize = 2048;

Value attention(OnnxLowering &to, const AttentionInputs &inputs, ArrayRef<SymbolicExpr> dims) {
  OpBuilder &b = to.builder;
  for (Value tensor : {inputs.q, inputs.v}) {
    if (cast<RankedTensorType>(tensor.getType()).getDimSize(3) <= kMaxHeadSize &&
        !cast<RankedTensorType>(tensor.getType()).isDynamicDim(3))
      continue;
    Value size = tensor::DimOp::create(b, to.loc(), tensor, 3);
    to.check(arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::sle, size, to.index(kMaxHeadSize)),
             "the head size is {0}, which is more than " + Twine(kMaxHeadSize), size);
  }
  Value out = to.empty(dims, getElementTypeOrSelf(inputs.q.getType()));
  auto number = [&](std::optional<int64_t> value) { return value ? b.getI64IntegerAttr(*value) : IntegerAttr(); };
  FloatAttr scale = inputs.scale ? b.getF64FloatAttr(*inputs.scale) : FloatAttr();
  return moe::AttentionOp::create(
             b, to.loc(), out.getType(), inputs.q, inputs.k, inputs.v, inputs.offsets, inputs.lengths, inputs.mask,
             inputs.sinks, out, scale, b.getF64FloatAttr(inputs.softcap), inputs.causal ? b.getUnitAttr() : UnitAttr(),
             number(inputs.left), number(inputs.right), inputs.smooth ? b.getUnitAttr() : UnitAttr(),
             inputs.qRowsFirst ? b.getUnitAttr() : UnitAttr(), inputs.kvRowsFirst ? b.getUnitAttr() : UnitAttr(),
             b.getStringAttr(inputs.unseen), inputs.rounded ? b.getUnitAttr() : UnitAttr())
      .getResult();
}

void requireEqual(OnnxLowering &to, const SymbolicExpr &have, const SymbolicExpr &want, const Twine &what) {
  if (have == want)
    return;
  Value x = to.sizeValue(have), y = to.sizeValue(want);
  to.check(arith::CmpIOp::create(to.builder, to.loc(), arith::CmpIPredicate::eq, x, y), what + " is {0}, wanted {1}",
           {x, y});
}

void requireMaskFits(OnnxLowering &to, ArrayRef<SymbolicExpr> mask, ArrayRef<SymbolicExpr> scores, StringRef name) {
  OpBuilder &b = to.builder;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (mask[axis].isConstant(1) || mask[axis] == scores[axis])
      continue;
    Value have = to.sizeValue(mask[axis]), want = to.sizeValue(scores[axis]);
    auto is = [&](Value number) { return arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::eq, have, number); };
    to.check(arith::OrIOp::create(b, to.loc(), is(to.index(1)), is(want)),
             name + " has extent {0} along axis " + Twine(axis) + ", wanted 1 or {1}", {have, want});
  }
}

Value swapRowsAndHeads(OnnxLowering &to, Value tensor, ArrayRef<SymbolicExpr> dims) {
  Value init = to.empty(dims, getElementTypeOrSelf(tensor.getType()));
  return linalg::TransposeOp::create(to.builder, to.loc(), tensor, init, ArrayRef<int64_t>{0, 2, 1, 3})->getResult(0);
}

Value insertRows(OnnxLowering &to, Value part, Value cache, ArrayRef<OpFoldResult> sizes, OpFoldResult first,
                 OpFoldResult rows) {
  OpBuilder &b = to.builder;
  SmallVector<OpFoldResult> offsets(4, b.getIndexAttr(0)), extents(sizes), strides(4, b.getIndexAttr(1));
  offsets[2] = first;
  extents[2] = rows;
  SmallVector<int64_t> shape;
  for (OpFoldResult extent : extents)
    shape.push_back(getConstantIntValue(extent).value_or(ShapedType::kDynamic));
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(part.getType()));
  if (part.getType() != type)
    part = tensor::CastOp::create(b, to.loc(), type, part);
  return tensor::InsertSliceOp::create(b, to.loc(), part, cache, offsets, extents, strides);
}

Value perSequence(OnnxLowering &to, const SymbolicExpr &batch, OnnxLowering::IndexBody body) {
  return to.generate({batch}, to.builder.getI64Type(), body);
}

Value extractI64(OpBuilder &b, Location loc, Value tensor, ValueRange at) {
  Value number = tensor::ExtractOp::create(b, loc, tensor, at);
  return number.getType().isInteger(64) ? number : arith::ExtSIOp::create(b, loc, b.getI64Type(), number).getResult();
}

} // namespace farskip
