// Attention that exporters spell in small operators.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/AttentionForm.h"

using namespace farskip;
using namespace farskip::onnx;
using namespace mlir;

/// The kernel keeps a head's row on a thread's stack.
static constexpr int64_t kMaxHeadSize = 2048;

static bool isLastAxis(int64_t axis, int64_t rank) { return axis == -1 || axis == rank - 1; }

std::optional<SpelledAttention> AttentionReader::read(MatMulOp product) {
  if (reader.shapes.rank(product.getA()) != 4 || reader.shapes.rank(product.getB()) != 4)
    return std::nullopt;
  SpelledAttention found;
  Value p = product.getA(), cut;
  SoftmaxOp softmax;
  while (!softmax) {
    p = reader.uncast(p);
    Operation *op = p.getDefiningOp();
    if (auto where = dyn_cast_or_null<WhereOp>(op)) {
      auto isNaN = where.getCondition().getDefiningOp<IsNaNOp>();
      if (!isNaN || isNaN.getX() != where.getY() || reader.scalar(where.getX()) != 0)
        return std::nullopt;
      found.cleaned = true;
      p = where.getY();
    } else if (auto slice = dyn_cast_or_null<SliceOp>(op); slice && !cut) {
      std::optional<SmallVector<int64_t>> starts = reader.shapes.constants(slice.getStarts()), steps;
      if (slice.getSteps())
        steps = reader.shapes.constants(slice.getSteps());
      if (!starts || llvm::any_of(*starts, [](int64_t start) { return start != 0; }) ||
          (slice.getSteps() && (!steps || llvm::any_of(*steps, [](int64_t step) { return step != 1; }))))
        return std::nullopt;
      cut = p;
      p = slice.getData();
    } else if (!(softmax = dyn_cast_or_null<SoftmaxOp>(op))) {
      return std::nullopt;
    }
  }
  if (!isLastAxis(softmax.getAxis(), 4))
    return std::nullopt;
  Value scores = reader.uncast(softmax.getInput());
  // Softmax does not change when a row's maximum is taken from its scores.
  if (auto shifted = scores.getDefiningOp<SubOp>()) {
    auto most = shifted.getB().getDefiningOp<ReduceMaxOp>();
    if (!reader.reducesLast(most) || reader.uncast(most.getData()) != reader.uncast(shifted.getA()))
      return std::nullopt;
    scores = reader.uncast(shifted.getA());
  }
  if (cut) {
    auto joined = scores.getDefiningOp<ConcatOp>();
    if (!joined || joined.getInputs().size() != 2 || !isLastAxis(joined.getAxis(), 4) ||
        !reader.sameShape(joined.getInputs()[0], cut) || !reader.shapes.shape(joined.getInputs()[1])[3].isConstant(1))
      return std::nullopt;
    scores = joined.getInputs()[0];
    found.sinks = readSinks(joined.getInputs()[1]);
    if (!found.sinks)
      return std::nullopt;
  }
  if (!readScores(scores, found))
    return std::nullopt;
  found.v = product.getB();
  return found;
}

/// One number per head, spread over batch and rows: a tensor of shape [1, heads, 1, 1].
Value AttentionReader::readSinks(Value value) {
  for (value = reader.copied(value); auto expand = value.getDefiningOp<ExpandOp>();)
    value = reader.copied(expand.getInput());
  ArrayRef<SymbolicExpr> dims = reader.shapes.shape(value);
  if (dims.size() < 3 || dims.size() > 4 || !dims[dims.size() - 3].constant() ||
      reader.shapes.elements(value) != dims[dims.size() - 3])
    return {};
  return value;
}

/// Scores from the last operation back: masks first, then softcap and scale, then the product.
bool AttentionReader::readScores(Value value, SpelledAttention &to) {
  value = reader.uncast(value);
  Operation *op = value.getDefiningOp();
  if (!op || reader.shapes.rank(value) != 4)
    return false;
  if (auto product = dyn_cast<MatMulOp>(op))
    return readProduct(product, to);
  if (std::optional<GraphReader::Scaled> scaled = reader.scaled(value)) {
    if (!readScores(scaled->tensor, to) || to.mask || (to.softcap != 0 && scaled->factor <= 0))
      return false;
    to.scale *= scaled->factor;
    to.softcap *= scaled->factor;
    return true;
  }
  if (auto tanh = dyn_cast<TanhOp>(op)) {
    if (!readScores(tanh.getX(), to) || to.mask || to.softcap != 0)
      return false;
    to.softcap = 1;
    return true;
  }
  MaskReader masks(reader, reader.shapes.shape(value));
  if (isa<AddOp>(op))
    for (unsigned i : {0u, 1u}) {
      SpelledAttention inner = to;
      if (!reader.sameShape(op->getOperand(i), value) || !readScores(op->getOperand(i), inner) || inner.mask)
        continue;
      to = inner;
      to.mask = masks.added(op->getOperand(1 - i));
      return true;
    }
  if (auto where = dyn_cast<WhereOp>(op))
    for (bool negated : {false, true}) {
      Value seen = negated ? where.getY() : where.getX(), lowest = negated ? where.getX() : where.getY();
      SpelledAttention inner = to;
      if (!reader.sameShape(seen, value) || !readScores(seen, inner) || inner.mask)
        continue;
      to = inner;
      to.mask = masks.chosen(where.getCondition(), lowest, negated);
      return to.mask.has_value();
    }
  return false;
}

bool AttentionReader::readProduct(MatMulOp product, SpelledAttention &to) {
  Value q = reader.copied(product.getA());
  while (std::optional<GraphReader::Scaled> scaled = reader.scaled(q)) {
    to.scale *= scaled->factor;
    q = reader.copied(scaled->tensor);
  }
  to.q = q;
  to.k = reader.copied(product.getB());
  while (std::optional<GraphReader::Scaled> scaled = reader.scaled(to.k)) {
    to.scale *= scaled->factor;
    to.k = reader.copied(scaled->tensor);
  }
  return reader.shapes.rank(to.q) == 4 && reader.shapes.rank(to.k) == 4;
}

static SmallVector<int64_t> permutation(TransposeOp op, int64_t rank) {
  if (std::optional<ArrayRef<int64_t>> perm = op.getPerm())
    return SmallVector<int64_t>(perm->begin(), perm->end());
  return llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
}

/// [batch, heads, keys, size] of keys [batch, heads, size, keys].
Value AttentionReader::untransposed(Value keys, GraphBuilder &build) {
  ArrayRef<SymbolicExpr> dims = reader.shapes.shape(keys);
  if (auto transpose = keys.getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> perm = permutation(transpose, 4);
    std::swap(perm[2], perm[3]);
    if (llvm::is_sorted(perm))
      return transpose.getData();
    return build.transpose(transpose.getData(), perm);
  }
  // Batch and heads are one axis while it is transposed.
  if (auto split = keys.getDefiningOp<ReshapeOp>()) {
    auto transpose = split.getData().getDefiningOp<TransposeOp>();
    if (transpose && reader.shapes.rank(split.getData()) == 3 &&
        permutation(transpose, 3) == ArrayRef<int64_t>{0, 2, 1}) {
      auto joined = transpose.getData().getDefiningOp<ReshapeOp>();
      ArrayRef<SymbolicExpr> middle = reader.shapes.shape(transpose.getData());
      if (joined && middle[1] == dims[3] && middle[2] == dims[2] &&
          reader.shapes.shape(joined.getData()) == ArrayRef<SymbolicExpr>{dims[0], dims[1], dims[3], dims[2]})
        return joined.getData();
    }
  }
  return build.transpose(keys, {0, 1, 3, 2});
}

/// Where each head of a tensor [batch, heads, rows, size] stands several times in a row: the tensor with each head
/// once.
Value AttentionReader::unrepeated(Value tensor, GraphBuilder &build) {
  Value source = tensor;
  size_t axis = 1;
  if (auto transpose = tensor.getDefiningOp<TransposeOp>();
      transpose && permutation(transpose, 4) == ArrayRef<int64_t>{0, 2, 1, 3}) {
    source = transpose.getData();
    axis = 2;
  }
  Value many = source;
  while (auto reshape = many.getDefiningOp<ReshapeOp>())
    many = reshape.getData();
  auto expand = many.getDefiningOp<ExpandOp>();
  if (!expand || reader.shapes.rank(many) != 5)
    return tensor;
  Operation *apart = expand.getInput().getDefiningOp();
  if (!isa_and_nonnull<UnsqueezeOp, ReshapeOp>(apart))
    return tensor;
  // The axis of heads in two: which head, and its copies.
  Dims once(reader.shapes.shape(source)), split(reader.shapes.shape(many)), one(split);
  if (split[axis] * split[axis + 1] != once[axis])
    return tensor;
  once[axis] = split[axis];
  one[axis + 1] = SymbolicExpr(1);
  split.erase(split.begin() + axis + 1);
  Value single = apart->getOperand(0);
  if (split != once || Dims(reader.shapes.shape(expand.getInput())) != one || Dims(reader.shapes.shape(single)) != once)
    return tensor;
  return axis == 1 ? single : build.transpose(single, {0, 2, 1, 3});
}

moe::AttendOp AttentionReader::build(const SpelledAttention &attention, GraphBuilder &build) {
  SymbolicShapes &shapes = reader.shapes;
  Dims q(shapes.shape(attention.q)), k(shapes.shape(attention.k)), v(shapes.shape(attention.v));
  Type element = getElementTypeOrSelf(attention.q.getType());
  for (Value operand : {attention.k, attention.v})
    if (getElementTypeOrSelf(operand.getType()) != element)
      return {};
  bool fits = q[0] == k[0] && q[0] == v[0] && q[1] == k[1] && q[1] == v[1] && q[3] == k[2] && k[3] == v[2];
  std::optional<int64_t> size = q[3].constant(), width = v[3].constant();
  if (!fits || !size || !width || *size > kMaxHeadSize || *width > kMaxHeadSize)
    return {};
  Dims scores{q[0], q[1], q[2], k[3]};
  Visibility seen;
  StringRef unseen = attention.cleaned ? "zero" : "nan";
  if (attention.mask) {
    if (attention.mask->unseen == "mean")
      unseen = "mean";
    std::optional<Visibility> read = MaskReader(reader, scores).visibility(*attention.mask, build);
    if (!read)
      return {};
    seen = *read;
  }
  Value sinks;
  if (attention.sinks) {
    if (shapes.elements(attention.sinks) != q[1])
      return {};
    sinks = build.cast(build.reshape(attention.sinks, {-1}), element);
  }
  Value keys = untransposed(attention.k, build), values = attention.v;
  double scale = attention.scale;
  auto once = [&](Value tensor, double *factor) {
    tensor = reader.copied(tensor);
    while (std::optional<GraphReader::Scaled> scaled = factor ? reader.scaled(tensor) : std::nullopt) {
      *factor *= scaled->factor;
      tensor = reader.copied(scaled->tensor);
    }
    return unrepeated(tensor, build);
  };
  double keyScale = scale;
  Value fewKeys = once(keys, &keyScale), fewValues = once(values, nullptr);
  if (shapes.shape(fewKeys)[1] == shapes.shape(fewValues)[1]) {
    keys = fewKeys;
    values = fewValues;
    scale = keyScale;
  }
  OpBuilder &b = build.builder;
  auto op = moe::AttendOp::create(b, build.location, attention.q.getType(), attention.q, keys, values, seen.mask, sinks,
                                  b.getF64FloatAttr(scale), b.getF64FloatAttr(attention.softcap),
                                  seen.causal ? b.getUnitAttr() : UnitAttr(), seen.atEnd ? b.getUnitAttr() : UnitAttr(),
                                  seen.left ? b.getI64IntegerAttr(*seen.left) : IntegerAttr(), b.getStringAttr(unseen));
  (void)op.inferShapes(shapes);
  return op;
}

bool AttentionReader::seesNothing(Value value, const SpelledMask &mask) {
  Operation *test = value.getDefiningOp();
  if (!test || !isa<LessOp, EqualOp>(test) || reader.scalar(test->getOperand(1)) != (isa<LessOp>(test) ? 1 : 0))
    return false;
  auto count = reader.copied(test->getOperand(0)).getDefiningOp<ReduceSumOp>();
  if (!reader.reducesLast(count))
    return false;
  auto cast = count.getData().getDefiningOp<CastOp>();
  if (!cast)
    return false;
  Value seen = reader.copied(cast.getInput()), known = reader.copied(mask.value);
  if (mask.negated) {
    auto no = known.getDefiningOp<NotOp>();
    return no && reader.copied(no.getX()) == seen;
  }
  return seen == known;
}
