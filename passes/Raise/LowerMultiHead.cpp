// Lowering of com.microsoft's MultiHeadAttention and Attention.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/AttentionCore.h"

using namespace mlir;

namespace farskip {

namespace {

/// What both operators are after their inputs are taken apart.
struct MultiHead {
  OnnxLowering &to;
  SymbolicExpr batch, rows, keys; ///< keys: new ones
  SymbolicExpr heads, size, valueSize;
  Value q, k, v;                      ///< [batch, rows, heads, size], or k and v as in a cache
  bool inCacheOrder = false;          ///< k and v are [batch, heads, keys, size]
  Value pastKey = {}, pastValue = {}; ///< [batch, heads, past, size]
  SymbolicExpr past = 0;
  Value mask = {}, bias = {}; ///< ONNX values
  double filter = 0;
  std::optional<double> scale = std::nullopt;
  bool causal = false;

  /// [batch, heads, past + keys, size]
  Value present(Value old, Value fresh, const SymbolicExpr &width) {
    Dims dims{batch, heads, keys, width};
    if (!inCacheOrder)
      fresh = swapRowsAndHeads(to, fresh, dims);
    if (!old)
      return fresh;
    dims[2] = past + keys;
    SmallVector<OpFoldResult> sizes = to.sizes(dims);
    Value all = to.empty(dims, getElementTypeOrSelf(fresh.getType()));
    all = insertRows(to, old, all, sizes, to.builder.getIndexAttr(0), to.size(past));
    return insertRows(to, fresh, all, sizes, to.size(past), to.size(keys));
  }

  /// The result [batch, rows, heads · valueSize]; `keyCache` and `valueCache` are set where the caches are wanted.
  Value build(bool wantCaches, Value &keyCache, Value &valueCache) {
    AttentionInputs inputs;
    inputs.q = q, inputs.k = k, inputs.v = v;
    inputs.qRowsFirst = true, inputs.kvRowsFirst = !inCacheOrder;
    if (wantCaches || pastKey) {
      keyCache = inputs.k = present(pastKey, k, size);
      valueCache = inputs.v = present(pastValue, v, valueSize);
      inputs.kvRowsFirst = false;
    }
    inputs.mask = combinedMask();
    inputs.scale = scale;
    inputs.causal = causal;
    if (pastKey) {
      Value before = arith::IndexCastOp::create(to.builder, to.loc(), to.builder.getI64Type(), to.sizeValue(past));
      inputs.offsets = perSequence(to, batch, [&](OpBuilder &, Location, ArrayRef<Value>) { return before; });
    }
    Dims dims{batch, rows, heads, valueSize};
    return to.reshape(attention(to, inputs, dims), dims, {batch, rows, heads * valueSize});
  }

  /// The bias plus `filter` for each key that the integer mask takes away; null for none.
  Value combinedMask() {
    SymbolicExpr total = past + keys;
    Dims scores{batch, heads, rows, total}, biasDims;
    if (bias) {
      biasDims = Dims(to.shapes.shape(bias));
      requireMaskFits(to, biasDims, scores, "attention_bias");
      requireEqual(to, biasDims[3], total, "the number of keys of attention_bias");
    }
    if (!mask)
      return bias ? to.value(bias) : Value();
    Dims maskDims(to.shapes.shape(mask));
    // One number for each sequence: how many keys it has; two: where they end, and for all sequences where they start.
    bool starts = maskDims.size() == 1 && maskDims[0] != batch && maskDims[0].dividedBy(batch) == SymbolicExpr(2);
    requireEqual(to, maskDims[0], starts ? batch * 2 : batch, "the batch of the mask");
    if (maskDims.size() > 1)
      requireEqual(to, maskDims.back(), total, "the number of keys of the mask");
    if (maskDims.size() == 3)
      requireEqual(to, maskDims[1], rows, "the number of rows of the mask");
    Dims dims{batch, bias ? biasDims[1] : SymbolicExpr(1), maskDims.size() == 3 || bias ? rows : SymbolicExpr(1),
              total};
    Value numbers = to.value(mask), added = bias ? to.value(bias) : Value(), batchSize = to.sizeValue(batch);
    SmallVector<Value> biasExtents;
    for (const SymbolicExpr &dim : biasDims)
      biasExtents.push_back(to.sizeValue(dim));
    Type f32 = to.builder.getF32Type();
    return to.generate(dims, f32, [&](OpBuilder &b, Location loc, ArrayRef<Value> i) -> Value {
      auto compare = [&](arith::CmpIPredicate kind, Value x, Value y) -> Value {
        return arith::CmpIOp::create(b, loc, kind, x, y);
      };
      auto real = [&](double number) -> Value { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(number)); };
      auto number = [&](ValueRange at) { return extractI64(b, loc, numbers, at); };
      Value seen, key = arith::IndexCastOp::create(b, loc, b.getI64Type(), i[3]);
      if (maskDims.size() == 1) {
        seen = compare(arith::CmpIPredicate::slt, key, number(i[0]));
        if (starts) {
          Value second = arith::AddIOp::create(b, loc, batchSize, i[0]);
          seen = arith::AndIOp::create(b, loc, seen, compare(arith::CmpIPredicate::sge, key, number(second)));
        }
      } else {
        Value zero = arith::ConstantIntOp::create(b, loc, b.getI64Type(), 0);
        seen = compare(arith::CmpIPredicate::ne,
                       maskDims.size() == 2 ? number({i[0], i[3]}) : number({i[0], i[2], i[3]}), zero);
      }
      Value sum = arith::SelectOp::create(b, loc, seen, real(0), real(filter));
      if (!added)
        return sum;
      SmallVector<Value> where;
      Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
      for (size_t axis = 0; axis < 4; ++axis)
        where.push_back(
            arith::SelectOp::create(b, loc, compare(arith::CmpIPredicate::eq, biasExtents[axis], one), zero, i[axis]));
      Value x = tensor::ExtractOp::create(b, loc, added, where);
      if (x.getType().isF64())
        x = arith::TruncFOp::create(b, loc, f32, x);
      else if (x.getType() != f32)
        x = arith::ExtFOp::create(b, loc, f32, x);
      return arith::AddFOp::create(b, loc, sum, x);
    });
  }
};

/// `count` positions of `axis` from `first` on.
Value part(OnnxLowering &to, Value tensor, ArrayRef<SymbolicExpr> dims, int64_t axis, const SymbolicExpr &first,
           const SymbolicExpr &count) {
  OpBuilder &b = to.builder;
  SmallVector<OpFoldResult> offsets(dims.size(), b.getIndexAttr(0)), strides(dims.size(), b.getIndexAttr(1)),
      extents = to.sizes(dims);
  offsets[axis] = to.size(first);
  extents[axis] = to.size(count);
  return tensor::ExtractSliceOp::create(b, to.loc(), tensor, offsets, extents, strides);
}

/// x + a part of a bias vector, along the last axis.
Value withBias(OnnxLowering &to, Value x, ArrayRef<SymbolicExpr> dims, Value bias, const SymbolicExpr &all,
               const SymbolicExpr &first) {
  Dims last{dims.back()};
  return to.elementwise(
      {{x, dims}, {part(to, bias, {all}, 0, first, dims.back()), last}}, dims, getElementTypeOrSelf(x.getType()),
      [](OpBuilder &b, Location loc, ValueRange v) -> Value { return arith::AddFOp::create(b, loc, v[0], v[1]); });
}

LogicalResult lowerMultiHead(onnx::MsMultiHeadAttentionOp op, OnnxLowering &to) {
  Dims query(to.shapes.shape(op.getQuery())), key(to.shapes.shape(op.getPresentKey())),
      value(to.shapes.shape(op.getPresentValue()));
  SymbolicExpr heads(op.getNumHeads());
  MultiHead m{to, query[0], query[1], key[2], heads, key[3], value[3], {}, {}, {}};
  if (op.getPastKey()) {
    Dims past(to.shapes.shape(op.getPastKey())), pastValue(to.shapes.shape(op.getPastValue()));
    m.past = past[2], m.keys = key[2] - past[2];
    m.pastKey = to.value(op.getPastKey()), m.pastValue = to.value(op.getPastValue());
    for (auto [dims, size, name] :
         {std::tuple(past, m.size, "past_key"), std::tuple(pastValue, m.valueSize, "past_value")}) {
      requireEqual(to, dims[0], m.batch, Twine("the batch of ") + name);
      requireEqual(to, dims[1], heads, Twine("the number of heads of ") + name);
      requireEqual(to, dims[2], m.past, Twine("the length of ") + name);
      requireEqual(to, dims[3], size, Twine("the head size of ") + name);
    }
  }
  SymbolicExpr hidden = heads * m.size, valueHidden = heads * m.valueSize, biasWidth = hidden * 2 + valueHidden;
  Value bias = op.getBias() ? to.value(op.getBias()) : Value();
  if (bias)
    requireEqual(to, to.shapes.elements(op.getBias()), biasWidth, "the number of elements of bias");
  /// [batch, n, hidden] with its part of the bias, as [batch, n, heads, size].
  auto split = [&](Value x, const SymbolicExpr &n, const SymbolicExpr &width, const SymbolicExpr &first) {
    Dims flat{m.batch, n, heads * width};
    if (bias)
      x = withBias(to, x, flat, bias, biasWidth, first);
    return to.reshape(x, flat, {m.batch, n, heads, width});
  };
  /// One of the `parts` of [batch, n, heads, parts, size].
  auto unpacked = [&](Value onnx, int64_t parts, int64_t which, const SymbolicExpr &n) {
    Dims dims{m.batch, n, heads, SymbolicExpr(parts), m.size}, one{m.batch, n, heads, SymbolicExpr(1), m.size},
        flat{m.batch, n, hidden};
    for (auto [have, want] : llvm::zip(to.shapes.shape(onnx), dims))
      requireEqual(to, have, want, "an extent of a packed operand");
    Value x = part(to, to.value(onnx), dims, 3, SymbolicExpr(which), SymbolicExpr(1));
    Value dense = to.empty(one, getElementTypeOrSelf(x.getType()));
    x = linalg::CopyOp::create(to.builder, to.loc(), x, dense).getResult(0);
    return split(to.reshape(x, one, flat), n, m.size, hidden * which);
  };
  if (query.size() == 5) {
    m.q = unpacked(op.getQuery(), 3, 0, m.rows), m.k = unpacked(op.getQuery(), 3, 1, m.rows);
    m.v = unpacked(op.getQuery(), 3, 2, m.rows);
  } else {
    requireEqual(to, query[2], hidden, "the width of query");
    m.q = split(to.value(op.getQuery()), m.rows, m.size, 0);
    Dims given(to.shapes.shape(op.getKey()));
    requireEqual(to, given[0], m.batch, "the batch of key");
    if (op.getValue())
      requireEqual(to, to.shapes.shape(op.getValue())[0], m.batch, "the batch of value");
    if (given.size() == 5) {
      m.k = unpacked(op.getKey(), 2, 0, m.keys), m.v = unpacked(op.getKey(), 2, 1, m.keys);
    } else if (given.size() == 4) {
      Dims other(to.shapes.shape(op.getValue()));
      for (auto [dims, name] : {std::pair(given, "key"), std::pair(other, "value")}) {
        requireEqual(to, dims[1], heads, Twine("the number of heads of ") + name);
        requireEqual(to, dims[2], m.keys, Twine("the length of ") + name);
      }
      requireEqual(to, given[3], m.size, "the head size of key");
      m.inCacheOrder = true;
      m.k = to.value(op.getKey()), m.v = to.value(op.getValue());
    } else {
      Dims other(to.shapes.shape(op.getValue()));
      requireEqual(to, given[2], hidden, "the width of key");
      requireEqual(to, other[2], valueHidden, "the width of value");
      requireEqual(to, other[1], given[1], "the length of value");
      m.k = split(to.value(op.getKey()), m.keys, m.size, hidden);
      m.v = split(to.value(op.getValue()), m.keys, m.valueSize, hidden * 2);
    }
  }
  m.mask = op.getKeyPaddingMask(), m.bias = op.getAttentionBias();
  m.filter = op.getMaskFilterValue().convertToFloat();
  if (op.getScale() && op.getScale()->convertToFloat() != 0)
    m.scale = op.getScale()->convertToFloat();
  m.causal = op.getUnidirectional() != 0;
  Value keyCache, valueCache;
  bool caches = !op.getPresentKey().use_empty() || !op.getPresentValue().use_empty();
  to.set(op.getOutput(), m.build(caches, keyCache, valueCache));
  if (caches) {
    to.set(op.getPresentKey(), keyCache);
    to.set(op.getPresentValue(), valueCache);
  }
  return success();
}

LogicalResult lowerMsAttention(onnx::MsAttentionOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims input(to.shapes.shape(op.getInput())), weights(to.shapes.shape(op.getWeights())),
      present(to.shapes.shape(op.getPresent()));
  SymbolicExpr heads(op.getNumHeads()), valueHidden = to.shapes.shape(op.getOutput())[2];
  MultiHead m{to, input[0], input[1], input[1], heads, present[4], *valueHidden.dividedBy(heads), {}, {}, {}};
  requireEqual(to, weights[0], input[2], "the number of rows of weights");
  Dims projected{input[0], input[1], weights[1]};
  Value all = to.matmul(to.value(op.getInput()), input, to.value(op.getWeights()), weights, projected);
  if (op.getBias()) {
    requireEqual(to, to.shapes.elements(op.getBias()), weights[1], "the number of elements of bias");
    all = withBias(to, all, projected, to.value(op.getBias()), weights[1], 0);
  }
  /// Columns from `first` on, as heads: a view.
  auto split = [&](const SymbolicExpr &first, const SymbolicExpr &size) {
    Dims flat{m.batch, m.rows, heads * size};
    return to.reshape(part(to, all, projected, 2, first, heads * size), flat, {m.batch, m.rows, heads, size});
  };
  SymbolicExpr hidden = heads * m.size;
  m.q = split(0, m.size), m.k = split(hidden, m.size), m.v = split(hidden * 2, m.valueSize);
  if (op.getPast()) {
    Dims past(to.shapes.shape(op.getPast())), one{SymbolicExpr(1), m.batch, heads, past[3], m.size};
    Dims wanted{SymbolicExpr(2), m.batch, heads, past[3], m.size};
    for (auto [have, want] : llvm::zip(past, wanted))
      requireEqual(to, have, want, "an extent of past");
    m.past = past[3];
    auto half = [&](int64_t which) {
      return to.reshape(part(to, to.value(op.getPast()), wanted, 0, SymbolicExpr(which), SymbolicExpr(1)), one,
                        ArrayRef(one).drop_front());
    };
    m.pastKey = half(0), m.pastValue = half(1);
  }
  m.mask = op.getMaskIndex(), m.bias = op.getAttentionBias();
  m.filter = op.getMaskFilterValue().convertToFloat();
  if (op.getScale() && op.getScale()->convertToFloat() != 0)
    m.scale = op.getScale()->convertToFloat();
  m.causal = op.getUnidirectional() != 0;
  Value keyCache, valueCache;
  to.set(op.getOutput(), m.build(!op.getPresent().use_empty(), keyCache, valueCache));
  if (op.getPresent().use_empty())
    return success();
  Value both = to.empty(op.getPresent());
  SmallVector<OpFoldResult> offsets(5, b.getIndexAttr(0)), strides(5, b.getIndexAttr(1)), extents = to.sizes(present);
  extents[0] = b.getIndexAttr(1);
  const Value caches[] = {keyCache, valueCache};
  for (auto [which, cache] : llvm::enumerate(caches)) {
    offsets[0] = b.getIndexAttr(which);
    both = tensor::InsertSliceOp::create(b, to.loc(), cache, both, offsets, extents, strides);
  }
  to.set(op.getPresent(), both);
  return success();
}

} // namespace

void populateMultiHeadLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::MsMultiHeadAttentionOp>(lowerMultiHead);
  registry.add<onnx::MsAttentionOp>(lowerMsAttention);
}

} // namespace farskip
