// Lowering of ONNX Attention.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "passes/Raise/AttentionCore.h"

using namespace mlir;

namespace farskip {

namespace {

/// One of Q, K, V with four axes: rank 3 is [batch, rows, heads · size].
struct Part {
  Value tensor;
  SymbolicExpr batch, heads, rows, size;
};

class Attention {
public:
  Attention(onnx::AttentionOp op, OnnxLowering &to) : op(op), to(to), b(to.builder) {
    flat = to.shapes.rank(op.getQ()) == 3;
  }

  void run() {
    Dims scores(to.shapes.shape(op.getQkMatmulOutput()));
    SymbolicExpr keyHeads = to.shapes.shape(op.getPresentKey())[1];
    Part q = part(op.getQ(), scores[1], to.shapes.shape(op.getPresentKey())[3]);
    Part k = part(op.getK(), keyHeads, q.size), v = part(op.getV(), keyHeads, to.shapes.shape(op.getPresentValue())[3]);
    check(q, k, v);
    AttentionInputs inputs;
    inputs.q = q.tensor;
    inputs.qRowsFirst = flat;
    inputs.k = k.tensor, inputs.v = v.tensor, inputs.kvRowsFirst = flat;
    if (op.getPastKey() || !op.getPresentKey().use_empty() || !op.getPresentValue().use_empty()) {
      inputs.k = present(op.getPastKey(), k, op.getPresentKey());
      inputs.v = present(op.getPastValue(), v, op.getPresentValue());
      inputs.kvRowsFirst = false;
    }
    visible(inputs, q);
    if (op.getAttnMask())
      inputs.mask = mask(scores);
    if (op.getScale())
      inputs.scale = op.getScale()->convertToFloat();
    inputs.softcap = op.getSoftcap().convertToFloat();
    Dims dims = flat ? Dims{q.batch, q.rows, q.heads, v.size} : Dims{q.batch, q.heads, q.rows, v.size};
    to.set(op.getY(), to.reshape(attention(to, inputs, dims), dims, to.shapes.shape(op.getY())));
    if (!op.getQkMatmulOutput().use_empty())
      to.set(op.getQkMatmulOutput(),
             attentionScores(to, inputs, static_cast<ScoreStage>(op.getQkMatmulOutputMode()), scores));
  }

private:
  Part part(Value onnx, const SymbolicExpr &heads, const SymbolicExpr &size) {
    Dims dims(to.shapes.shape(onnx));
    if (!flat)
      return {to.value(onnx), dims[0], dims[1], dims[2], dims[3]};
    requireEqual(to, dims[2], heads * size, "the width of an input");
    return {to.reshape(to.value(onnx), dims, {dims[0], dims[1], heads, size}), dims[0], heads, dims[1], size};
  }

  void check(const Part &q, const Part &k, const Part &v) {
    requireEqual(to, k.batch, q.batch, "the batch of K");
    requireEqual(to, v.batch, q.batch, "the batch of V");
    requireEqual(to, k.size, q.size, "the head size of K");
    requireEqual(to, v.heads, k.heads, "the number of heads of V");
    requireEqual(to, v.rows, k.rows, "the length of V");
    if (!q.heads.constant() || !k.heads.constant()) {
      Value heads = to.sizeValue(q.heads), keyHeads = to.sizeValue(k.heads);
      Value some = arith::MaxSIOp::create(b, to.loc(), keyHeads, to.index(1));
      Value rest = arith::RemUIOp::create(b, to.loc(), heads, some);
      Value fits = arith::AndIOp::create(
          b, to.loc(), arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::eq, rest, to.index(0)),
          arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::eq, some, keyHeads));
      to.check(fits, "{0} key heads do not divide {1} query heads", {keyHeads, heads});
    }
    if (!op.getPastKey())
      return;
    Dims past(to.shapes.shape(op.getPastKey())), pastValue(to.shapes.shape(op.getPastValue()));
    for (auto [dims, part, name] : {std::tuple(past, k, "past_key"), std::tuple(pastValue, v, "past_value")}) {
      requireEqual(to, dims[0], part.batch, Twine("the batch of ") + name);
      requireEqual(to, dims[1], part.heads, Twine("the number of heads of ") + name);
      requireEqual(to, dims[2], past[2], Twine("the length of ") + name);
      requireEqual(to, dims[3], part.size, Twine("the head size of ") + name);
    }
  }

  /// The past with the new rows behind it, [batch, heads, rows, size].
  Value present(Value past, const Part &part, Value result) {
    Dims fresh{part.batch, part.heads, part.rows, part.size};
    Value rows = flat ? swapRowsAndHeads(to, part.tensor, fresh) : part.tensor;
    if (past) {
      Dims dims(to.shapes.shape(result));
      SmallVector<OpFoldResult> sizes = to.sizes(dims);
      SymbolicExpr before = to.shapes.shape(past)[2];
      Value all = insertRows(to, to.value(past), to.empty(result), sizes, b.getIndexAttr(0), to.size(before));
      rows = insertRows(to, rows, all, sizes, to.size(before), to.size(part.rows));
    }
    to.set(result, rows);
    return to.value(result);
  }

  /// Which keys a row sees by its position.
  void visible(AttentionInputs &inputs, const Part &q) {
    inputs.causal = op.getIsCausal() != 0;
    if (op.getLeftWindowSize() >= 0)
      inputs.left = op.getLeftWindowSize();
    if (op.getRightWindowSize() >= 0)
      inputs.right = op.getRightWindowSize();
    if (Value given = op.getNonpadKvSeqlen()) {
      requireEqual(to, to.shapes.elements(given), q.batch, "the number of elements of nonpad_kv_seqlen");
      inputs.lengths = to.reshape(to.value(given), to.shapes.shape(given), {q.batch});
      Value rows = arith::IndexCastOp::create(b, to.loc(), b.getI64Type(), to.sizeValue(q.rows));
      inputs.offsets = perSequence(to, q.batch, [&](OpBuilder &in, Location at, ArrayRef<Value> i) -> Value {
        return arith::SubIOp::create(in, at, tensor::ExtractOp::create(in, at, inputs.lengths, i), rows);
      });
    } else if (op.getPastKey()) {
      Value before = to.sizeValue(to.shapes.shape(op.getPastKey())[2]);
      before = arith::IndexCastOp::create(b, to.loc(), b.getI64Type(), before);
      inputs.offsets = perSequence(to, q.batch, [&](OpBuilder &, Location, ArrayRef<Value>) { return before; });
    }
  }

  /// The mask with four axes, each of which is 1 or that of the scores; the last may be shorter.
  Value mask(ArrayRef<SymbolicExpr> scores) {
    Dims dims(to.shapes.shape(op.getAttnMask())), full(4 - dims.size(), SymbolicExpr(1));
    full.append(dims);
    requireMaskFits(to, full, scores, "attn_mask");
    return to.reshape(to.value(op.getAttnMask()), dims, full);
  }

  onnx::AttentionOp op;
  OnnxLowering &to;
  OpBuilder &b;
  bool flat;
};

LogicalResult lowerAttention(onnx::AttentionOp op, OnnxLowering &to) {
  Attention(op, to).run();
  return success();
}

/// What a rule of recognition found; the shapes are proven to fit.
LogicalResult lowerAttend(moe::AttendOp op, OnnxLowering &to) {
  Dims q(to.shapes.shape(op.getQ())), k(to.shapes.shape(op.getK()));
  AttentionInputs inputs;
  inputs.q = to.value(op.getQ()), inputs.k = to.value(op.getK()), inputs.v = to.value(op.getV());
  if (op.getMask())
    inputs.mask = to.value(op.getMask());
  if (op.getSinks())
    inputs.sinks = to.value(op.getSinks());
  inputs.scale = op.getScale().convertToDouble();
  inputs.softcap = op.getSoftcap().convertToDouble();
  inputs.causal = op.getCausal();
  if (std::optional<uint64_t> left = op.getLeft())
    inputs.left = static_cast<int64_t>(*left);
  inputs.unseen = op.getUnseen();
  // With 8 bits, what the operators rounded on their way is more than noise.
  inputs.rounded = getElementTypeOrSelf(op.getQ().getType()).isBF16();
  if (op.getAtEnd() && q[2] != k[2]) {
    Value before = arith::IndexCastOp::create(to.builder, to.loc(), to.builder.getI64Type(), to.sizeValue(k[2] - q[2]));
    inputs.offsets = perSequence(to, q[0], [&](OpBuilder &, Location, ArrayRef<Value>) { return before; });
  }
  to.set(op.getY(), attention(to, inputs, to.shapes.shape(op.getY())));
  return success();
}

} // namespace

void populateAttentionLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::AttentionOp>(lowerAttention);
  registry.add<moe::AttendOp>(lowerAttend);
}

} // namespace farskip
