// Sums over slots, and additions of rows to the rows of tokens.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/WeightedSum.h"
#include "passes/Recognise/HitRows.h"

using namespace farskip;
using namespace mlir;

/// Splits tokens × slots × features into what is weighted and the weights.
static std::optional<WeightedSum> weightedProduct(Value product, const SymbolicExpr &tokens, int64_t slots,
                                                  int64_t width, SymbolicShapes &shapes) {
  auto mul = baseOfCasts(product, shapes).getDefiningOp<onnx::MulOp>();
  if (!mul)
    return std::nullopt;
  SymbolicExpr pairs = tokens * SymbolicExpr(slots);
  for (auto [value, weights] : {std::pair(mul.getA(), mul.getB()), std::pair(mul.getB(), mul.getA())}) {
    // A broadcast over the trailing axis, and over no other.
    ArrayRef<SymbolicExpr> narrow = shapes.shape(weights), wide = shapes.shape(value);
    if (shapes.elements(weights) != pairs || shapes.elements(value) != pairs * SymbolicExpr(width) ||
        narrow.size() != wide.size() || !narrow.back().isConstant(1) || narrow.drop_back() != wide.drop_back())
      continue;
    return WeightedSum{value, weights, tokens, slots, width};
  }
  return std::nullopt;
}

std::optional<WeightedSum> farskip::slotSum(Operation *root, SymbolicShapes &shapes) {
  auto reduce = dyn_cast<onnx::ReduceSumOp>(root);
  if (!reduce)
    return std::nullopt;
  ArrayRef<SymbolicExpr> dims = shapes.shape(reduce.getData());
  std::optional<int64_t> axis = reduce.getAxes() ? integerOf(reduce.getAxes(), shapes) : std::nullopt;
  int64_t rank = dims.size();
  if (!axis || rank < 3 || fromFront(*axis, rank) != rank - 2 || !dims[rank - 2].constant() ||
      !dims[rank - 1].constant() || !isa<FloatType>(getElementTypeOrSelf(reduce.getData().getType())))
    return std::nullopt;
  SymbolicExpr tokens(1);
  for (const SymbolicExpr &dim : dims.drop_back(2))
    tokens = tokens * dim;
  return WeightedSum{reduce.getData(), {}, tokens, *dims[rank - 2].constant(), *dims[rank - 1].constant()};
}

std::optional<PairTokens> farskip::pairTokens(Value index, SymbolicShapes &shapes) {
  Value base = baseOfCasts(index, shapes);
  Operation *op = base.getDefiningOp();
  if (isa_and_nonnull<onnx::ExpandOp, onnx::TileOp>(op)) {
    // [0, T) stretched to T × K.
    ArrayRef<SymbolicExpr> from = shapes.shape(op->getOperand(0)), to = shapes.shape(base);
    bool fits = from.size() == 2 && to.size() == 2 && from[1].isConstant(1) && to[0] == from[0] && to[1].constant();
    if (!fits || !isRange(op->getOperand(0), from[0], shapes))
      return std::nullopt;
    return PairTokens{from[0], *to[1].constant()};
  }
  if (auto division = dyn_cast_or_null<onnx::DivOp>(op)) {
    // [0, T · K) / K.
    std::optional<double> slots = splatOf(division.getB(), shapes);
    SymbolicExpr pairs = shapes.elements(division.getA());
    if (!slots || *slots < 1 || *slots > 1e6 || !getElementTypeOrSelf(base.getType()).isInteger() ||
        !isRange(division.getA(), pairs, shapes))
      return std::nullopt;
    std::optional<SymbolicExpr> tokens = pairs.dividedBy(SymbolicExpr(static_cast<int64_t>(*slots)));
    return tokens ? std::optional(PairTokens{*tokens, static_cast<int64_t>(*slots)}) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<WeightedSum> farskip::weightedSum(Operation *root, SymbolicShapes &shapes) {
  if (isa<onnx::ScatterElementsOp, onnx::ScatterNDOp, onnx::AddOp>(root)) {
    std::optional<RowScatter> scatter = rowScatter(root->getResult(0), shapes);
    std::optional<PairTokens> pairs = scatter ? pairTokens(scatter->index, shapes) : std::nullopt;
    if (!pairs || !scatter->adds || splatOf(scatter->sum, shapes) != 0.0 ||
        shapes.shape(scatter->sum)[0] != pairs->tokens || !shapes.shape(scatter->sum)[1].constant())
      return std::nullopt;
    return weightedProduct(scatter->updates, pairs->tokens, pairs->slots, *shapes.shape(scatter->sum)[1].constant(),
                           shapes);
  }
  if (std::optional<WeightedSum> sum = slotSum(root, shapes))
    return weightedProduct(sum->value, sum->tokens, sum->slots, sum->width, shapes);
  if (auto product = dyn_cast<onnx::MatMulOp>(root)) {
    // weights [T, 1, K] · value [T, K, D]
    ArrayRef<SymbolicExpr> left = shapes.shape(product.getA()), right = shapes.shape(product.getB());
    if (left.size() != 3 || right.size() != 3 || left[0] != right[0] || !left[1].isConstant(1) || !left[2].constant() ||
        left[2] != right[1] || !right[2].constant())
      return std::nullopt;
    return WeightedSum{product.getB(), product.getA(), left[0], *left[2].constant(), *right[2].constant()};
  }
  return std::nullopt;
}

/// The index of each updated row, of indices that repeat it over the features.
static Value rowIndex(Value indices, SymbolicShapes &shapes) {
  indices = baseOfCasts(indices, shapes);
  if (auto expand = indices.getDefiningOp<onnx::ExpandOp>())
    if (shapes.rank(expand.getInput()) == 2 && shapes.shape(expand.getInput())[1].isConstant(1))
      return expand.getInput();
  return indices;
}

/// Sees `value` as a scatter of whole rows.
static std::optional<RowScatter> scatter(Value value, SymbolicShapes &shapes) {
  Operation *op = value.getDefiningOp();
  if (auto scatter = dyn_cast_or_null<onnx::ScatterElementsOp>(op)) {
    if (shapes.rank(value) != 2 || fromFront(scatter.getAxis(), 2) != 0 ||
        shapes.shape(scatter.getUpdates())[1] != shapes.shape(value)[1] ||
        (scatter.getReduction() != "none" && scatter.getReduction() != "add"))
      return std::nullopt;
    return RowScatter{scatter.getData(), rowIndex(scatter.getIndices(), shapes), scatter.getUpdates(),
                      scatter.getReduction() == "add"};
  }
  if (auto scatter = dyn_cast_or_null<onnx::ScatterNDOp>(op)) {
    if (shapes.rank(value) != 2 || !shapes.shape(scatter.getIndices()).back().isConstant(1) ||
        (scatter.getReduction() != "none" && scatter.getReduction() != "add"))
      return std::nullopt;
    return RowScatter{scatter.getData(), scatter.getIndices(), scatter.getUpdates(), scatter.getReduction() == "add"};
  }
  return std::nullopt;
}

std::optional<RowScatter> farskip::rowScatter(Value value, SymbolicShapes &shapes) {
  value = baseOfCasts(value, shapes);
  if (std::optional<RowScatter> step = scatter(value, shapes)) {
    // In zeros, placing rows is adding them.
    if (step->adds || splatOf(step->sum, shapes) == 0.0)
      return step;
    // x[i] = x[i] + update, as some exporters write an addition in place.
    auto sum = baseOfCasts(step->updates, shapes).getDefiningOp<onnx::AddOp>();
    if (!sum)
      return std::nullopt;
    for (auto [old, update] : {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())})
      if (std::optional<RowGather> gather = rowGather(baseOfCasts(old, shapes), shapes);
          gather && gather->axis == 0 && gather->data == step->sum &&
          baseOfCasts(gather->index, shapes) == baseOfCasts(step->index, shapes))
        return RowScatter{step->sum, step->index, update, false};
    return std::nullopt;
  }
  auto sum = value.getDefiningOp<onnx::AddOp>();
  if (!sum || sum.getA().getType() != sum.getB().getType())
    return std::nullopt;
  for (auto [before, placed] : {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())})
    if (std::optional<RowScatter> step = scatter(baseOfCasts(placed, shapes), shapes);
        step && splatOf(step->sum, shapes) == 0.0)
      return RowScatter{before, step->index, step->updates, step->adds};
  return std::nullopt;
}
