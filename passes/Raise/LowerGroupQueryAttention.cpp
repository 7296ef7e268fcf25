// Lowering of com.microsoft.GroupQueryAttention.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/AttentionCore.h"
#include "passes/Raise/RotateElement.h"

using namespace mlir;

namespace farskip {

namespace {

class GroupQueryAttention {
public:
  GroupQueryAttention(onnx::MsGroupQueryAttentionOp op, OnnxLowering &to)
      : op(op), to(to), b(to.builder), element(to.type(op.getQuery()).getElementType()) {
    Dims query(to.shapes.shape(op.getQuery())), cache(to.shapes.shape(op.getPresentKey()));
    batch = query[0], rows = query[1], size = cache[3];
    heads = op.getNumHeads(), keyHeads = op.getKvNumHeads();
  }

  void run() {
    checkExtents();
    splitQuery();
    countTokens();
    normalise();
    if (op.getDoRotary())
      positions();
    Dims cacheRows{batch, SymbolicExpr(keyHeads), rows, size};
    Value key = arranged(k, cacheRows, /*rotate=*/true), value = arranged(v, cacheRows, /*rotate=*/false);
    AttentionInputs inputs;
    inputs.q = op.getDoRotary() ? rotated(q, {batch, rows, SymbolicExpr(heads), size}, /*headsFirst=*/false) : q;
    inputs.k = present(op.getPastKey(), key);
    inputs.v = present(op.getPastValue(), value);
    inputs.offsets = before;
    inputs.lengths = totals;
    if (op.getAttentionBias())
      inputs.mask = to.value(op.getAttentionBias());
    if (op.getHeadSink())
      inputs.sinks = to.value(op.getHeadSink());
    inputs.smooth = op.getSmoothSoftmax() == 1;
    if (op.getScale() && op.getScale()->convertToFloat() != 0)
      inputs.scale = op.getScale()->convertToFloat();
    inputs.softcap = op.getSoftcap().convertToFloat();
    inputs.causal = op.getCausal() != 0;
    if (op.getLocalWindowSize() > 0)
      inputs.left = op.getLocalWindowSize() - 1;
    inputs.qRowsFirst = true;
    Dims dims{batch, rows, SymbolicExpr(heads), size};
    Value y = attention(to, inputs, dims);
    to.set(op.getOutput(), to.reshape(y, dims, to.shapes.shape(op.getOutput())));
    to.set(op.getPresentKey(), inputs.k);
    to.set(op.getPresentValue(), inputs.v);
  }

private:
  Value compare(arith::CmpIPredicate kind, Value x, Value y) { return arith::CmpIOp::create(b, to.loc(), kind, x, y); }

  void checkExtents() {
    Dims query(to.shapes.shape(op.getQuery()));
    requireEqual(to, query[2], size * (op.getKey() ? heads : heads + 2 * keyHeads), "the width of query");
    for (auto [tensor, name] : {std::pair(op.getKey(), "key"), std::pair(op.getValue(), "value")}) {
      if (!tensor)
        continue;
      Dims dims(to.shapes.shape(tensor));
      requireEqual(to, dims[0], batch, Twine("the batch of ") + name);
      requireEqual(to, dims[1], rows, Twine("the length of ") + name);
      requireEqual(to, dims[2], size * keyHeads, Twine("the width of ") + name);
    }
    for (auto [tensor, name] : {std::pair(op.getPastKey(), "past_key"), std::pair(op.getPastValue(), "past_value")}) {
      if (!tensor)
        continue;
      Dims dims(to.shapes.shape(tensor));
      requireEqual(to, dims[0], batch, Twine("the batch of ") + name);
      requireEqual(to, dims[1], keyHeads, Twine("the number of heads of ") + name);
      requireEqual(to, dims[2], to.shapes.shape(op.getPastKey())[2], Twine("the length of ") + name);
      requireEqual(to, dims[3], size, Twine("the head size of ") + name);
    }
    for (auto [tensor, name] :
         {std::pair(op.getSeqlensK(), "seqlens_k"), std::pair(op.getQuerySeqlens(), "query_seqlens")})
      if (tensor)
        requireEqual(to, to.shapes.elements(tensor), batch, Twine("the number of elements of ") + name);
    requireEqual(to, to.shapes.elements(op.getTotalSequenceLength()), 1,
                 "the number of elements of total_sequence_length");
    if (op.getHeadSink())
      requireEqual(to, to.shapes.elements(op.getHeadSink()), heads, "the number of elements of head_sink");
    if (op.getAttentionBias())
      requireMaskFits(to, to.shapes.shape(op.getAttentionBias()), {batch, SymbolicExpr(heads), rows}, "attention_bias");
    if (op.getDoRotary() && op.getPositionIds()) {
      Dims dims(to.shapes.shape(op.getPositionIds()));
      requireEqual(to, dims[0], batch, "the batch of position_ids");
      requireEqual(to, dims[1], rows, "the length of position_ids");
    }
  }

  /// q, k, v as [batch, rows, heads, size]; of a packed query, views of it.
  void splitQuery() {
    auto split = [&](Value onnx, int64_t n) {
      return to.reshape(to.value(onnx), to.shapes.shape(onnx), {batch, rows, SymbolicExpr(n), size});
    };
    if (op.getKey()) {
      q = split(op.getQuery(), heads), k = split(op.getKey(), keyHeads), v = split(op.getValue(), keyHeads);
      return;
    }
    Value all = split(op.getQuery(), heads + 2 * keyHeads);
    auto part = [&](int64_t first, int64_t n) -> Value {
      SmallVector<OpFoldResult> offsets(4, b.getIndexAttr(0)), strides(4, b.getIndexAttr(1));
      offsets[2] = b.getIndexAttr(first);
      return tensor::ExtractSliceOp::create(b, to.loc(), all, offsets, to.sizes({batch, rows, SymbolicExpr(n), size}),
                                            strides);
    };
    q = part(0, heads), k = part(heads, keyHeads), v = part(heads + keyHeads, keyHeads);
  }

  /// For each sequence the tokens after this step and before it, checked against the cache's length.
  void countTokens() {
    Value sequenceRows = to.sizeValue(rows);
    Value rowsI64 = arith::IndexCastOp::create(b, to.loc(), b.getI64Type(), sequenceRows);
    pastLength = op.getPastKey() ? to.sizeValue(to.shapes.shape(op.getPastKey())[2]) : to.index(0);
    Value total = to.onlyElement(op.getTotalSequenceLength());
    presentLength = arith::MaxSIOp::create(
        b, to.loc(), arith::IndexCastOp::create(b, to.loc(), b.getIndexType(), total), pastLength);
    SymbolicExpr known = to.shapes.shape(op.getPresentKey())[2];
    isFirst = compare(arith::CmpIPredicate::eq, arith::IndexCastOp::create(b, to.loc(), b.getIndexType(), total),
                      sequenceRows);
    if (to.shapes.contents(op.getTotalSequenceLength()))
      presentLength = to.sizeValue(known);
    Dims flat{batch};
    Value lengths = to.reshape(to.value(op.getSeqlensK()), to.shapes.shape(op.getSeqlensK()), flat);
    totals = perSequence(to, batch, [&](OpBuilder &in, Location at, ArrayRef<Value> i) -> Value {
      Value one = arith::ConstantIntOp::create(in, at, in.getI64Type(), 1);
      return arith::AddIOp::create(in, at, extractI64(in, at, lengths, i), one);
    });
    Value given;
    if (op.getQuerySeqlens())
      given = to.reshape(to.value(op.getQuerySeqlens()), to.shapes.shape(op.getQuerySeqlens()), flat);
    before = perSequence(to, batch, [&](OpBuilder &in, Location at, ArrayRef<Value> i) -> Value {
      Value all = tensor::ExtractOp::create(in, at, totals, i);
      Value fresh = given ? extractI64(in, at, given, i) : arith::MinSIOp::create(in, at, all, rowsI64).getResult();
      return arith::SubIOp::create(in, at, all, fresh);
    });
    Value least = to.index(0);
    to.loops(to.sizeValue(batch), {}, [&](OpBuilder &in, Location at, ArrayRef<Value> i, ValueRange) {
      auto number = [&](Value tensor) -> Value {
        Value n = tensor::ExtractOp::create(in, at, tensor, i);
        return arith::IndexCastOp::create(in, at, in.getIndexType(), n);
      };
      Value all = number(totals), old = number(before);
      Value fits = arith::AndIOp::create(in, at, compare(arith::CmpIPredicate::sge, all, least),
                                         compare(arith::CmpIPredicate::sle, all, presentLength));
      to.check(fits, "sequence {0} has {1} tokens, the cache holds {2}", {i[0], all, presentLength});
      Value cached = arith::AndIOp::create(in, at, compare(arith::CmpIPredicate::sge, old, least),
                                           compare(arith::CmpIPredicate::sle, old, pastLength));
      to.check(cached, "sequence {0} has {1} tokens before this step, the past holds {2}", {i[0], old, pastLength});
      Value end = arith::AddIOp::create(in, at, old, sequenceRows);
      to.check(compare(arith::CmpIPredicate::sle, end, presentLength),
               "sequence {0} would have {1} rows in a cache of {2}", {i[0], end, presentLength});
      return SmallVector<Value>();
    });
  }

  /// The per-head RMS norm of queries and keys.
  void normalise() {
    if (!op.getQNormWeight())
      return;
    auto epsilon = [&](std::optional<APFloat> own) { return own ? *own : op.getQkNormEpsilon(); };
    q = normed(q, heads, op.getQNormWeight(), epsilon(op.getQNormEpsilon()).convertToFloat());
    k = normed(k, keyHeads, op.getKNormWeight(), epsilon(op.getKNormEpsilon()).convertToFloat());
  }

  Value normed(Value x, int64_t n, Value weight, float epsilon) {
    Type wide = element.isF64() ? element : Type(b.getF32Type());
    auto widen = [=](OpBuilder &in, Location at, Value value) -> Value {
      return value.getType() == wide ? value : arith::ExtFOp::create(in, at, wide, value).getResult();
    };
    Dims dims{batch, rows, SymbolicExpr(n), size}, kept{batch, rows, SymbolicExpr(n)},
        small{batch, rows, SymbolicExpr(n), SymbolicExpr(1)}, last{size};
    Value sum = to.reduce(x, dims, {false, false, false, true}, to.scalar(wide, 0),
                          [&](OpBuilder &in, Location at, ValueRange v) -> Value {
                            Value w = widen(in, at, v[0]);
                            return arith::AddFOp::create(in, at, v[1], arith::MulFOp::create(in, at, w, w));
                          });
    Value count = arith::SIToFPOp::create(b, to.loc(), wide,
                                          arith::IndexCastOp::create(b, to.loc(), b.getI64Type(), to.sizeValue(size)));
    Value eps = to.scalar(wide, epsilon), one = to.scalar(wide, 1);
    Value inverse = to.elementwise({{sum, kept}}, kept, wide, [&](OpBuilder &in, Location at, ValueRange v) -> Value {
      Value mean = arith::AddFOp::create(in, at, arith::DivFOp::create(in, at, v[0], count), eps);
      return arith::DivFOp::create(in, at, one, math::SqrtOp::create(in, at, mean));
    });
    return to.elementwise({{x, dims}, {to.reshape(inverse, kept, small), small}, {to.value(weight), last}}, dims,
                          element, [&](OpBuilder &in, Location at, ValueRange v) -> Value {
                            Value y = arith::MulFOp::create(in, at, widen(in, at, v[0]), v[1]);
                            y = arith::MulFOp::create(in, at, y, widen(in, at, v[2]));
                            return y.getType() == element ? y : arith::TruncFOp::create(in, at, element, y).getResult();
                          });
  }

  /// Each row's position: given, or counted from the tokens before; in a first prompt only the first given one counts.
  void positions() {
    Dims dims{batch, rows};
    Value given = op.getPositionIds() ? to.value(op.getPositionIds()) : Value();
    Value limit = to.sizeValue(to.shapes.shape(op.getCosCache())[0]);
    position = to.generate(dims, b.getI64Type(), [&](OpBuilder &in, Location at, ArrayRef<Value> i) -> Value {
      Value row = arith::IndexCastOp::create(in, at, in.getI64Type(), i[1]);
      Value counted = arith::AddIOp::create(in, at, tensor::ExtractOp::create(in, at, before, i[0]), row);
      if (!given)
        return counted;
      Value zero = arith::ConstantIndexOp::create(in, at, 0);
      Value own = extractI64(in, at, given, i), first = extractI64(in, at, given, {zero, zero});
      return arith::SelectOp::create(in, at, isFirst, arith::AddIOp::create(in, at, first, row), own);
    });
    Value least = to.index(0);
    to.loops(
        {to.sizeValue(batch), to.sizeValue(rows)}, {}, [&](OpBuilder &in, Location at, ArrayRef<Value> i, ValueRange) {
          Value p =
              arith::IndexCastOp::create(in, at, in.getIndexType(), tensor::ExtractOp::create(in, at, position, i));
          to.check(arith::AndIOp::create(in, at, compare(arith::CmpIPredicate::sge, p, least),
                                         compare(arith::CmpIPredicate::slt, p, limit)),
                   "position {0} is outside the rotary table of {1}", {p, limit});
          return SmallVector<Value>();
        });
  }

  /// A tensor [batch, rows, heads, size] rotated, in its own order or as [batch, heads, rows, size]: `dims`.
  Value rotated(Value x, ArrayRef<SymbolicExpr> dims, bool headsFirst) {
    Value half = to.sizeValue(to.shapes.shape(op.getCosCache())[1]);
    Value cosines = to.value(op.getCosCache()), sines = to.value(op.getSinCache());
    return to.generate(dims, element, [&](OpBuilder &in, Location at, ArrayRef<Value> i) -> Value {
      Value row = i[headsFirst ? 2 : 1], head = i[headsFirst ? 1 : 2];
      auto load = [&](Value d) -> Value {
        return tensor::ExtractOp::create(in, at, x, ValueRange{i[0], row, head, d});
      };
      auto table = [&](Value angle) {
        Value p = arith::IndexCastOp::create(in, at, in.getIndexType(),
                                             tensor::ExtractOp::create(in, at, position, ValueRange{i[0], row}));
        return std::pair<Value, Value>(tensor::ExtractOp::create(in, at, cosines, ValueRange{p, angle}),
                                       tensor::ExtractOp::create(in, at, sines, ValueRange{p, angle}));
      };
      return rotateElement(in, at, i[3], half, op.getRotaryInterleaved() != 0, load, table);
    });
  }

  /// New keys or values in the order of the cache.
  Value arranged(Value x, ArrayRef<SymbolicExpr> dims, bool rotate) {
    if (rotate && op.getDoRotary())
      return rotated(x, dims, /*headsFirst=*/true);
    return swapRowsAndHeads(to, x, dims);
  }

  /// The cache after this step: the past, zeros where it is longer, and the new rows of each sequence behind its
  /// tokens.
  Value present(Value past, Value fresh) {
    Location loc = to.loc();
    SmallVector<OpFoldResult> sizes = to.sizes({batch, SymbolicExpr(keyHeads), SymbolicExpr(1), size});
    sizes[2] = getAsOpFoldResult(presentLength);
    OpFoldResult rowCount = to.size(rows);
    if (!past) {
      // Nothing is before: the new rows are the first of every sequence.
      Value start = zeros(sizes, {});
      return insertRows(to, fresh, start, sizes, b.getIndexAttr(0), rowCount);
    }
    OpFoldResult old = getAsOpFoldResult(pastLength);
    Value rest = arith::SubIOp::create(b, loc, presentLength, pastLength);
    Value cache = tensor::EmptyOp::create(b, loc, sizes, element);
    cache = insertRows(to, to.value(past), cache, sizes, b.getIndexAttr(0), old);
    cache = insertRows(to, zeros(sizes, rest), cache, sizes, old, getAsOpFoldResult(rest));
    SmallVector<OpFoldResult> one(sizes);
    one[0] = b.getIndexAttr(1);
    one[2] = rowCount;
    return to.loops(to.sizeValue(batch), cache,
                    [&](OpBuilder &in, Location at, ArrayRef<Value> i, ValueRange carried) -> SmallVector<Value> {
                      Value first = arith::IndexCastOp::create(in, at, in.getIndexType(),
                                                               tensor::ExtractOp::create(in, at, before, i));
                      SmallVector<OpFoldResult> strides(4, in.getIndexAttr(1)), from(4, in.getIndexAttr(0));
                      from[0] = i[0];
                      SmallVector<OpFoldResult> into = from;
                      into[2] = first;
                      Value part = tensor::ExtractSliceOp::create(in, at, fresh, from, one, strides);
                      return {tensor::InsertSliceOp::create(in, at, part, carried[0], into, one, strides)};
                    })[0];
  }

  /// Zeros of the cache's shape, with `rowCount` rows where that is given.
  Value zeros(ArrayRef<OpFoldResult> sizes, Value rowCount) {
    SmallVector<OpFoldResult> extents(sizes);
    if (rowCount)
      extents[2] = getAsOpFoldResult(rowCount);
    Value empty = tensor::EmptyOp::create(b, to.loc(), extents, element);
    return linalg::FillOp::create(b, to.loc(), to.scalar(element, 0), empty).getResult(0);
  }

  onnx::MsGroupQueryAttentionOp op;
  OnnxLowering &to;
  OpBuilder &b;
  Type element;
  SymbolicExpr batch, rows, size;
  int64_t heads, keyHeads;
  Value q, k, v;
  Value totals, before, position; ///< i64: [batch], [batch], [batch, rows]
  Value pastLength, presentLength, isFirst;
};

LogicalResult lowerGroupQueryAttention(onnx::MsGroupQueryAttentionOp op, OnnxLowering &to) {
  GroupQueryAttention(op, to).run();
  return success();
}

} // namespace

void populateGroupQueryAttentionLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::MsGroupQueryAttentionOp>(lowerGroupQueryAttention);
}

} // namespace farskip
