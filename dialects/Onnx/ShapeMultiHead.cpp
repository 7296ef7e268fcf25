// Shapes of com.microsoft's attention with equal numbers of heads, of TensorScatter and of fused operators.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

static LogicalResult checkFloatTypes(Operation *op, ValueRange values) {
  Type element = elementType(values.front());
  for (Value value : values)
    if (value && (!isa<FloatType>(element) || elementType(value) != element))
      return op->emitOpError() << "operands must have one float type";
  return success();
}

LogicalResult MsMultiHeadAttentionOp::inferShapes(SymbolicShapes &shapes) {
  int64_t heads = getNumHeads();
  if (failed(checkRank(*this, shapes, getQuery(), "query", 3, 5)) ||
      failed(checkFloatTypes(
          *this, {getQuery(), getKey(), getValue(), getBias(), getAttentionBias(), getPastKey(), getPastValue()})))
    return failure();
  if (getPastSequenceLength() || getCacheIndirection())
    return emitOpError() << "a shared cache buffer is not supported";
  if (!getQk().use_empty())
    return emitOpError() << "the output qk is not supported";
  if (!getPastKey() != !getPastValue())
    return emitOpError() << "past_key and past_value must be given together";
  Dims query(shapes.shape(getQuery()));
  SymbolicExpr batch = query[0], rows = query[1], keys, size, valueSize;
  auto packed = [&](const Dims &dims, int64_t parts, StringRef what) -> LogicalResult {
    if (!dims[2].isNever(heads) && !dims[3].isNever(parts))
      return success();
    return emitOpError() << what << " has shape " << shapes.str(dims) << ", wanted [batch, rows, " << heads << ", "
                         << parts << ", size]";
  };
  if (query.size() == 5) {
    if (getKey() || getValue())
      return emitOpError() << "a packed query excludes key and value";
    if (failed(packed(query, 3, "query")))
      return failure();
    keys = rows, size = valueSize = query[4];
  } else if (query.size() != 3 || !getKey()) {
    return emitOpError() << "query has rank " << query.size() << (getKey() ? "" : " and there is no key")
                         << ", wanted rank 3 with a key or rank 5 without";
  } else {
    FailureOr<SymbolicExpr> part = headSize(*this, shapes, query[2], heads, "query");
    if (failed(part))
      return failure();
    size = valueSize = *part;
    Dims key(shapes.shape(getKey()));
    if (key.size() == 5) {
      if (getValue())
        return emitOpError() << "a packed key excludes value";
      if (failed(packed(key, 2, "key")))
        return failure();
      keys = key[1];
    } else {
      if (!getValue() || (key.size() != 3 && key.size() != 4) ||
          failed(checkRank(*this, shapes, getValue(), "value", key.size(), key.size())))
        return emitOpError() << "key has rank " << key.size() << (getValue() ? "" : " and there is no value")
                             << ", wanted key and value of rank 3 or 4";
      Dims value(shapes.shape(getValue()));
      if (key.size() == 4) {
        if (getPastKey())
          return emitOpError() << "key and value of rank 4 exclude past_key";
        keys = key[2], valueSize = value[3];
      } else {
        FailureOr<SymbolicExpr> valuePart = headSize(*this, shapes, value[2], heads, "value");
        if (failed(valuePart))
          return failure();
        keys = key[1], valueSize = *valuePart;
      }
    }
  }
  SymbolicExpr total = keys;
  if (getPastKey()) {
    if (failed(checkRank(*this, shapes, getPastKey(), "past_key", 4, 4)) ||
        failed(checkRank(*this, shapes, getPastValue(), "past_value", 4, 4)))
      return failure();
    total = shapes.shape(getPastKey())[2] + keys;
  }
  if (getAttentionBias() && failed(checkRank(*this, shapes, getAttentionBias(), "attention_bias", 4, 4)))
    return failure();
  if (getKeyPaddingMask() && failed(checkRank(*this, shapes, getKeyPaddingMask(), "key_padding_mask", 1, 3)))
    return failure();
  Type element = elementType(getQuery());
  shapes.set(getOutput(), element, {batch, rows, valueSize * heads});
  shapes.set(getPresentKey(), element, {batch, SymbolicExpr(heads), total, size});
  shapes.set(getPresentValue(), element, {batch, SymbolicExpr(heads), total, valueSize});
  shapes.set(getQk(), element, {batch, SymbolicExpr(heads), rows, total});
  return success();
}

LogicalResult MsAttentionOp::inferShapes(SymbolicShapes &shapes) {
  int64_t heads = getNumHeads();
  if (failed(checkRank(*this, shapes, getInput(), "input", 3, 3)) ||
      failed(checkRank(*this, shapes, getWeights(), "weights", 2, 2)) ||
      failed(checkFloatTypes(*this, {getInput(), getWeights(), getBias(), getPast(), getAttentionBias()})))
    return failure();
  if (getDoRotary() || getPastPresentShareBuffer() || getPastSequenceLength())
    return emitOpError() << "do_rotary and past_present_share_buffer are not supported";
  Dims input(shapes.shape(getInput())), weights(shapes.shape(getWeights()));
  if (failed(checkSame(*this, shapes, weights[0], input[2], "the number of rows of weights")))
    return failure();
  std::optional<int64_t> width = weights[1].constant();
  if (!width || heads < 1)
    return emitOpError() << "the width of the weights is not known, or num_heads is " << heads;
  SmallVector<int64_t> parts(3, *width / 3);
  if (getQkvHiddenSizes())
    parts.assign(getQkvHiddenSizes()->begin(), getQkvHiddenSizes()->end());
  if (parts.size() != 3 || parts[0] != parts[1] || parts[0] + parts[1] + parts[2] != *width ||
      llvm::any_of(parts, [&](int64_t part) { return part < 1 || part % heads; }))
    return emitOpError() << "weights of width " << *width << " do not give queries, keys and values of " << heads
                         << " heads";
  SymbolicExpr total = input[1];
  if (getPast()) {
    if (failed(checkRank(*this, shapes, getPast(), "past", 5, 5)))
      return failure();
    if (parts[2] != parts[0])
      return emitOpError() << "a past needs keys and values of one size";
    total = shapes.shape(getPast())[3] + input[1];
  }
  if (getAttentionBias() && failed(checkRank(*this, shapes, getAttentionBias(), "attention_bias", 4, 4)))
    return failure();
  if (getMaskIndex() && failed(checkRank(*this, shapes, getMaskIndex(), "mask_index", 1, 3)))
    return failure();
  if (parts[2] != parts[0] && !getPresent().use_empty())
    return emitOpError() << "present needs keys and values of one size";
  Type element = elementType(getInput());
  shapes.set(getOutput(), element, {input[0], input[1], SymbolicExpr(parts[2])});
  shapes.set(getPresent(), element,
             {SymbolicExpr(2), input[0], SymbolicExpr(heads), total, SymbolicExpr(parts[0] / heads)});
  return success();
}

LogicalResult TensorScatterOp::inferShapes(SymbolicShapes &shapes) {
  Dims cache(shapes.shape(getPastCache())), update(shapes.shape(getUpdate()));
  int64_t rank = cache.size();
  FailureOr<int64_t> axis = normalizeAxis(*this, getAxis(), rank);
  if (failed(axis) || failed(checkRank(*this, shapes, getUpdate(), "update", rank, rank)))
    return failure();
  if (*axis == 0)
    return emitOpError() << "axis 0 is the batch";
  if (getMode() != "linear" && getMode() != "circular")
    return emitOpError() << "mode is '" << getMode() << "', valid are linear and circular";
  if (elementType(getPastCache()) != elementType(getUpdate()))
    return emitOpError() << "cache and update have different element types";
  for (int64_t i = 0; i < rank; ++i)
    if (i != *axis &&
        failed(checkSame(*this, shapes, update[i], cache[i], ("the extent of update along axis " + Twine(i)).str())))
      return failure();
  if ((cache[*axis] - update[*axis]).isNegative())
    return emitOpError() << "the update has " << shapes.str(update[*axis]) << " rows, the cache "
                         << shapes.str(cache[*axis]);
  return inferLike(*this, shapes, getPastCache());
}

LogicalResult MsFusedMatMulOp::inferShapes(SymbolicShapes &shapes) {
  Dims a(shapes.shape(getA())), b(shapes.shape(getB()));
  if (getTransBatchA() || getTransBatchB())
    return emitOpError() << "transBatchA and transBatchB are not supported";
  if (a.size() < 2 || b.size() < 2)
    return emitOpError() << "operands of shapes " << shapes.str(a) << " and " << shapes.str(b)
                         << ", wanted rank 2 or more";
  if (failed(checkFloatTypes(*this, {getA(), getB()})))
    return failure();
  if (getTransA())
    std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (getTransB())
    std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (a.back().isNever(b[b.size() - 2]))
    return emitOpError() << "inner dimensions " << shapes.str(a.back()) << " and " << shapes.str(b[b.size() - 2])
                         << " differ";
  std::optional<Dims> dims = shapes.broadcast(ArrayRef(a).drop_back(2), ArrayRef(b).drop_back(2));
  if (!dims)
    return emitOpError() << "cannot broadcast shapes " << shapes.str(a) << " and " << shapes.str(b);
  dims->push_back(a[a.size() - 2]);
  dims->push_back(b.back());
  shapes.set(getY(), elementType(getA()), std::move(*dims));
  return success();
}

static LogicalResult inferWithBias(Operation *op, SymbolicShapes &shapes, Value x, Value bias) {
  if (failed(checkFloatTypes(op, {x, bias})))
    return failure();
  Dims dims(shapes.shape(x));
  if (bias && (shapes.rank(bias) != 1 || dims.empty() || shapes.shape(bias)[0].isNever(dims.back())))
    return op->emitOpError() << "bias of shape " << shapes.str(shapes.shape(bias)) << " does not fit "
                             << shapes.str(dims);
  return inferLike(op, shapes, x);
}
LogicalResult MsGeluOp::inferShapes(SymbolicShapes &shapes) { return inferWithBias(*this, shapes, getX(), {}); }
LogicalResult MsBiasGeluOp::inferShapes(SymbolicShapes &shapes) { return inferWithBias(*this, shapes, getA(), getB()); }
LogicalResult MsFastGeluOp::inferShapes(SymbolicShapes &shapes) {
  return inferWithBias(*this, shapes, getX(), getBias());
}

} // namespace farskip::onnx
