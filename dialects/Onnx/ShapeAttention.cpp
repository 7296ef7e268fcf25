// Shapes of attention and of the caches of keys and values.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

LogicalResult AttentionOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(checkRank(*this, shapes, getQ(), "Q", 3, 4)))
    return failure();
  int64_t rank = shapes.rank(getQ());
  Dims q(shapes.shape(getQ())), k(shapes.shape(getK())), v(shapes.shape(getV()));
  if (failed(checkRank(*this, shapes, getK(), "K", rank, rank)) ||
      failed(checkRank(*this, shapes, getV(), "V", rank, rank)))
    return failure();
  Type element = elementType(getQ());
  if (!isa<FloatType>(element) || elementType(getK()) != element || elementType(getV()) != element)
    return emitOpError() << "Q, K and V must have one float type";
  if (getQkMatmulOutputMode() < 0 || getQkMatmulOutputMode() > 3)
    return emitOpError() << "qk_matmul_output_mode is " << getQkMatmulOutputMode() << ", wanted 0 to 3";
  for (int64_t window : {getLeftWindowSize(), getRightWindowSize()})
    if (window < -1)
      return emitOpError() << "a window size is " << window << ", wanted -1 or more";
  if (rank == 3) {
    if (!getQNumHeads() || !getKvNumHeads())
      return emitOpError() << "q_num_heads and kv_num_heads are required for inputs of rank 3";
    auto split = [&](Dims &dims, int64_t heads, StringRef what) -> LogicalResult {
      FailureOr<SymbolicExpr> size = headSize(*this, shapes, dims[2], heads, what);
      if (failed(size))
        return failure();
      dims = {dims[0], SymbolicExpr(heads), dims[1], *size};
      return success();
    };
    if (failed(split(q, *getQNumHeads(), "Q")) || failed(split(k, *getKvNumHeads(), "K")) ||
        failed(split(v, *getKvNumHeads(), "V")))
      return failure();
  }
  if (failed(checkSame(*this, shapes, k[0], q[0], "the batch of K")) ||
      failed(checkSame(*this, shapes, v[0], q[0], "the batch of V")) ||
      failed(checkSame(*this, shapes, k[3], q[3], "the head size of K")) ||
      failed(checkSame(*this, shapes, v[1], k[1], "the number of heads of V")) ||
      failed(checkSame(*this, shapes, v[2], k[2], "the length of V")))
    return failure();
  std::optional<int64_t> heads = q[1].constant(), keyHeads = k[1].constant();
  if (heads && keyHeads && (*keyHeads < 1 || *heads % *keyHeads))
    return emitOpError() << *keyHeads << " key heads do not divide " << *heads << " query heads";
  SymbolicExpr length = k[2];
  if (!getPastKey() != !getPastValue())
    return emitOpError() << "past_key and past_value must be given together";
  if (getPastKey()) {
    if (getNonpadKvSeqlen())
      return emitOpError() << "nonpad_kv_seqlen and past_key exclude each other";
    if (failed(checkRank(*this, shapes, getPastKey(), "past_key", 4, 4)) ||
        failed(checkRank(*this, shapes, getPastValue(), "past_value", 4, 4)))
      return failure();
    Dims past(shapes.shape(getPastKey())), pastValue(shapes.shape(getPastValue()));
    if (failed(checkSame(*this, shapes, past[1], k[1], "the number of heads of past_key")) ||
        failed(checkSame(*this, shapes, past[3], k[3], "the head size of past_key")) ||
        failed(checkSame(*this, shapes, pastValue[1], v[1], "the number of heads of past_value")) ||
        failed(checkSame(*this, shapes, pastValue[2], past[2], "the length of past_value")) ||
        failed(checkSame(*this, shapes, pastValue[3], v[3], "the head size of past_value")))
      return failure();
    length = past[2] + length;
  }
  if (getAttnMask()) {
    if (failed(checkRank(*this, shapes, getAttnMask(), "attn_mask", 1, 4)))
      return failure();
    if (!elementType(getAttnMask()).isInteger(1) && elementType(getAttnMask()) != element)
      return emitOpError() << "attn_mask has element type " << elementType(getAttnMask()) << ", wanted bool or "
                           << element;
  }
  Dims y{q[0], q[1], q[2], v[3]};
  if (rank == 3)
    y = {q[0], q[2], q[1] * v[3]};
  shapes.set(getY(), element, y);
  shapes.set(getPresentKey(), element, {q[0], k[1], length, k[3]});
  shapes.set(getPresentValue(), element, {q[0], k[1], length, v[3]});
  shapes.set(getQkMatmulOutput(), element, {q[0], q[1], q[2], length});
  return success();
}

LogicalResult MsGroupQueryAttentionOp::inferShapes(SymbolicShapes &shapes) {
  int64_t heads = getNumHeads(), keyHeads = getKvNumHeads();
  if (failed(checkRank(*this, shapes, getQuery(), "query", 3, 3)))
    return failure();
  if (heads < 1 || keyHeads < 1 || heads % keyHeads)
    return emitOpError() << "kv_num_heads " << keyHeads << " does not divide num_heads " << heads;
  Type element = elementType(getQuery());
  if (!isa<FloatType>(element))
    return emitOpError() << "element type " << element << " is no float";
  if (!getKey() != !getValue())
    return emitOpError() << "key and value must be given together";
  if (getSlidingWindowCache())
    return emitOpError() << "sliding_window_cache is not supported";
  if (getKScale() || getVScale() || getKQuantType() != "NONE" || getVQuantType() != "NONE")
    return emitOpError() << "a quantised cache is not supported";
  if (getQkOutput() || !getOutputQk().use_empty())
    return emitOpError() << "qk_output is not supported";
  if (!getPastKey() != !getPastValue())
    return emitOpError() << "past_key and past_value must be given together";
  if (!getQNormWeight() != !getKNormWeight())
    return emitOpError() << "q_norm_weight and k_norm_weight must be given together";
  if (getQuerySeqlens() && !getPastKey())
    return emitOpError() << "query_seqlens needs past_key and past_value";
  if (getDoRotary() && (!getCosCache() || !getSinCache()))
    return emitOpError() << "do_rotary needs cos_cache and sin_cache";
  if (getSmoothSoftmax() == 1 && getHeadSink())
    return emitOpError() << "smooth_softmax and head_sink exclude each other";
  Dims query(shapes.shape(getQuery()));
  FailureOr<SymbolicExpr> size = headSize(*this, shapes, query[2], getKey() ? heads : heads + 2 * keyHeads, "query");
  if (failed(size))
    return failure();
  if (getKey()) {
    for (auto [tensor, what] : {std::pair(getKey(), "key"), std::pair(getValue(), "value")}) {
      if (failed(checkRank(*this, shapes, tensor, what, 3, 3)))
        return failure();
      Dims dims(shapes.shape(tensor));
      if (failed(checkSame(*this, shapes, dims[1], query[1], (Twine("the length of ") + what).str())) ||
          failed(checkSame(*this, shapes, dims[2], *size * keyHeads, (Twine("the width of ") + what).str())))
        return failure();
    }
  }
  if (getDoRotary()) {
    if (failed(checkRank(*this, shapes, getCosCache(), "cos_cache", 2, 2)) ||
        failed(checkRank(*this, shapes, getSinCache(), "sin_cache", 2, 2)))
      return failure();
    std::optional<int64_t> half = shapes.shape(getCosCache())[1].constant(), whole = size->constant();
    if (half && whole && 2 * *half > *whole)
      return emitOpError() << "cos_cache has width " << *half << ", which is more than half the head size " << *whole;
    if (failed(checkSame(*this, shapes, shapes.shape(getSinCache())[0], shapes.shape(getCosCache())[0],
                         "the length of sin_cache")) ||
        failed(checkSame(*this, shapes, shapes.shape(getSinCache())[1], shapes.shape(getCosCache())[1],
                         "the width of sin_cache")))
      return failure();
    if (getPositionIds() && failed(checkRank(*this, shapes, getPositionIds(), "position_ids", 2, 2)))
      return failure();
  }
  if (getAttentionBias() && failed(checkRank(*this, shapes, getAttentionBias(), "attention_bias", 4, 4)))
    return failure();
  for (Value weight : {getQNormWeight(), getKNormWeight()})
    if (weight && (failed(checkRank(*this, shapes, weight, "a norm's weight", 1, 1)) ||
                   failed(checkSame(*this, shapes, shapes.shape(weight)[0], *size, "the width of a norm's weight"))))
      return failure();
  if (!shapes.elements(getTotalSequenceLength()).isConstant(1) && shapes.elements(getTotalSequenceLength()).constant())
    return emitOpError() << "total_sequence_length has shape " << shapes.str(shapes.shape(getTotalSequenceLength()))
                         << ", wanted one element";
  SymbolicExpr past(0);
  if (getPastKey()) {
    for (auto [tensor, what] : {std::pair(getPastKey(), "past_key"), std::pair(getPastValue(), "past_value")}) {
      if (failed(checkRank(*this, shapes, tensor, what, 4, 4)))
        return failure();
      Dims dims(shapes.shape(tensor));
      if (failed(checkSame(*this, shapes, dims[0], query[0], (Twine("the batch of ") + what).str())) ||
          failed(checkSame(*this, shapes, dims[1], keyHeads, (Twine("the number of heads of ") + what).str())) ||
          failed(checkSame(*this, shapes, dims[3], *size, (Twine("the head size of ") + what).str())))
        return failure();
      if (elementType(tensor) != element)
        return emitOpError() << what << " has element type " << elementType(tensor) << ", wanted " << element;
    }
    past = shapes.shape(getPastKey())[2];
  }
  // The length is a run's value: known as an expression where the graph takes it from a shape.
  const Dims *total = shapes.contents(getTotalSequenceLength());
  SymbolicExpr length = total ? shapes.max(past, total->front()) : shapes.fresh(getPresentKey(), 2);
  shapes.set(getOutput(), element, {query[0], query[1], *size * heads});
  shapes.set(getPresentKey(), element, {query[0], SymbolicExpr(keyHeads), length, *size});
  shapes.set(getPresentValue(), element, {query[0], SymbolicExpr(keyHeads), length, *size});
  shapes.set(getOutputQk(), element, {query[0], SymbolicExpr(heads), query[1], length});
  return success();
}

} // namespace farskip::onnx
