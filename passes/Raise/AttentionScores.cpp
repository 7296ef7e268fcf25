// Attention scores as a tensor of their own, for the output that shows them.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/AttentionCore.h"

using namespace mlir;

namespace farskip {

namespace {

struct Scores {
  OnnxLowering &to;
  const AttentionInputs &inputs;
  Dims dims;
  Type element, wide;
  Value group, depth, scale;

  Value widen(OpBuilder &in, Location at, Value x) {
    return x.getType() == wide ? x : arith::ExtFOp::create(in, at, wide, x).getResult();
  }

  /// scale · q · kᵀ; one chain over the depth for each element.
  Value product() {
    return to.generate(dims, wide, [&](OpBuilder &in, Location at, ArrayRef<Value> i) -> Value {
      Value zero = arith::ConstantIndexOp::create(in, at, 0), one = arith::ConstantIndexOp::create(in, at, 1);
      Value head = arith::DivUIOp::create(in, at, i[1], group);
      Value start = arith::ConstantOp::create(in, at, in.getFloatAttr(wide, 0));
      auto loop =
          scf::ForOp::create(in, at, zero, depth, one, start, [&](OpBuilder &b, Location, Value d, ValueRange sum) {
            auto load = [&](Value tensor, Value h, Value row, bool rowsFirst) {
              SmallVector<Value> where{i[0], rowsFirst ? row : h, rowsFirst ? h : row, d};
              return widen(b, at, tensor::ExtractOp::create(b, at, tensor, where));
            };
            Value x = load(inputs.q, i[1], i[2], inputs.qRowsFirst), y = load(inputs.k, head, i[3], inputs.kvRowsFirst);
            scf::YieldOp::create(b, at, ValueRange{math::FmaOp::create(b, at, x, y, sum[0])});
          });
      return arith::MulFOp::create(in, at, loop.getResult(0), scale);
    });
  }

  Value capped(Value scores) {
    if (inputs.softcap == 0)
      return scores;
    Value cap = to.scalar(wide, inputs.softcap);
    return to.elementwise({{scores, dims}}, dims, wide, [&](OpBuilder &in, Location at, ValueRange x) -> Value {
      Value y = math::TanhOp::create(in, at, arith::DivFOp::create(in, at, x[0], cap));
      return arith::MulFOp::create(in, at, y, cap);
    });
  }

  /// The mask added, and −∞ for each key that a row does not see.
  Value masked(Value scores) {
    Value lowest = arith::ConstantOp::create(
        to.builder, to.loc(),
        to.builder.getFloatAttr(wide, APFloat::getInf(cast<FloatType>(wide).getFloatSemantics(), /*Negative=*/true)));
    Value keys = to.sizeValue(dims[3]);
    SmallVector<Value> extents;
    if (inputs.mask)
      for (int64_t axis = 0; axis < 4; ++axis)
        extents.push_back(tensor::DimOp::create(to.builder, to.loc(), inputs.mask, axis));
    return to.generate(dims, wide, [&](OpBuilder &in, Location at, ArrayRef<Value> i) -> Value {
      auto compare = [&](arith::CmpIPredicate kind, Value x, Value y) -> Value {
        return arith::CmpIOp::create(in, at, kind, x, y);
      };
      auto both = [&](Value x, Value y) -> Value { return arith::AndIOp::create(in, at, x, y); };
      auto number = [&](int64_t n) -> Value { return arith::ConstantIndexOp::create(in, at, n); };
      auto ofSequence = [&](Value tensor, Value otherwise) -> Value {
        if (!tensor)
          return otherwise;
        return arith::IndexCastOp::create(in, at, in.getIndexType(), tensor::ExtractOp::create(in, at, tensor, i[0]));
      };
      Value score = tensor::ExtractOp::create(in, at, scores, i);
      Value key = i[3], position = arith::AddIOp::create(in, at, ofSequence(inputs.offsets, number(0)), i[2]);
      Value seen = compare(arith::CmpIPredicate::slt, key, ofSequence(inputs.lengths, keys));
      if (inputs.causal)
        seen = both(seen, compare(arith::CmpIPredicate::sle, key, position));
      if (inputs.left)
        seen = both(seen, compare(arith::CmpIPredicate::sge, key,
                                  arith::SubIOp::create(in, at, position, number(*inputs.left))));
      if (inputs.right)
        seen = both(seen, compare(arith::CmpIPredicate::sle, key,
                                  arith::AddIOp::create(in, at, position, number(*inputs.right))));
      if (inputs.mask) {
        Value zero = number(0);
        SmallVector<Value> where;
        for (int64_t axis = 0; axis < 3; ++axis)
          where.push_back(arith::SelectOp::create(in, at, compare(arith::CmpIPredicate::eq, extents[axis], number(1)),
                                                  zero, i[axis]));
        Value known = compare(arith::CmpIPredicate::slt, key, extents[3]);
        seen = both(seen, known);
        where.push_back(arith::SelectOp::create(in, at, known, key, zero));
        Value mask = tensor::ExtractOp::create(in, at, inputs.mask, where);
        if (mask.getType().isInteger(1))
          seen = both(seen, mask);
        else
          score = arith::AddFOp::create(in, at, score, widen(in, at, mask));
      }
      return arith::SelectOp::create(in, at, seen, score, lowest);
    });
  }

  /// Over the keys; a row that sees none is zero.
  Value softmax(Value scores) {
    Dims kept(ArrayRef(dims).drop_back()), small = kept;
    small.push_back(1);
    SmallVector<bool> last{false, false, false, true};
    APFloat infinity = APFloat::getInf(cast<FloatType>(wide).getFloatSemantics(), /*Negative=*/true);
    Value lowest = arith::ConstantOp::create(to.builder, to.loc(), to.builder.getFloatAttr(wide, infinity));
    Value zero = to.scalar(wide, 0), one = to.scalar(wide, 1);
    Value greatest = to.reduce(scores, dims, last, lowest, [](OpBuilder &in, Location at, ValueRange x) -> Value {
      return arith::MaxNumFOp::create(in, at, x[0], x[1]);
    });
    Value powers = to.elementwise({{scores, dims}, {to.reshape(greatest, kept, small), small}}, dims, wide,
                                  [&](OpBuilder &in, Location at, ValueRange x) -> Value {
                                    Value none = arith::CmpFOp::create(in, at, arith::CmpFPredicate::OEQ, x[1], lowest);
                                    Value safe = arith::SelectOp::create(in, at, none, zero, x[1]);
                                    return math::ExpOp::create(in, at, arith::SubFOp::create(in, at, x[0], safe));
                                  });
    Value sum = to.reduce(powers, dims, last, zero, [](OpBuilder &in, Location at, ValueRange x) -> Value {
      return arith::AddFOp::create(in, at, x[0], x[1]);
    });
    return to.elementwise({{powers, dims}, {to.reshape(sum, kept, small), small}}, dims, wide,
                          [&](OpBuilder &in, Location at, ValueRange x) -> Value {
                            Value none = arith::CmpFOp::create(in, at, arith::CmpFPredicate::OEQ, x[1], zero);
                            Value safe = arith::SelectOp::create(in, at, none, one, x[1]);
                            return arith::DivFOp::create(in, at, x[0], safe);
                          });
  }
};

} // namespace

Value attentionScores(OnnxLowering &to, const AttentionInputs &inputs, ScoreStage stage, ArrayRef<SymbolicExpr> dims) {
  OpBuilder &b = to.builder;
  Type element = getElementTypeOrSelf(inputs.q.getType()), wide = element.isF64() ? element : Type(b.getF32Type());
  Scores scores{to, inputs, Dims(dims), element, wide, {}, {}, {}};
  Value keyHeads = tensor::DimOp::create(b, to.loc(), inputs.k, inputs.kvRowsFirst ? 2 : 1);
  keyHeads = arith::MaxSIOp::create(b, to.loc(), keyHeads, to.index(1));
  scores.group = arith::MaxSIOp::create(b, to.loc(), to.index(1),
                                        arith::DivUIOp::create(b, to.loc(), to.sizeValue(dims[1]), keyHeads));
  scores.depth = tensor::DimOp::create(b, to.loc(), inputs.q, 3);
  if (inputs.scale) {
    scores.scale = to.scalar(wide, *inputs.scale);
  } else {
    Value number = arith::IndexCastOp::create(b, to.loc(), b.getI64Type(), scores.depth);
    Value root = math::SqrtOp::create(b, to.loc(), arith::SIToFPOp::create(b, to.loc(), wide, number));
    scores.scale = arith::DivFOp::create(b, to.loc(), to.scalar(wide, 1), root);
  }
  Value result = scores.product();
  if (stage >= ScoreStage::Capped)
    result = scores.capped(result);
  if (stage >= ScoreStage::Masked)
    result = scores.masked(result);
  if (stage == ScoreStage::Softmax)
    result = scores.softmax(result);
  return to.convertFloat(result, dims, element);
}

} // namespace farskip
