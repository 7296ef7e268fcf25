// Shapes of the mixture-of-experts operators.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace farskip;
using namespace farskip::onnx;
using namespace mlir;

LogicalResult MsMoEOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(checkRank(*this, shapes, getInput(), "input", 2, 3)) ||
      failed(checkRank(*this, shapes, getRouterProbs(), "router_probs", 2, 2)) ||
      failed(checkRank(*this, shapes, getFc1ExpertsWeights(), "fc1_experts_weights", 3, 3)) ||
      failed(checkRank(*this, shapes, getFc2ExpertsWeights(), "fc2_experts_weights", 3, 3)))
    return failure();
  if (!llvm::is_contained({"relu", "gelu", "silu", "swiglu", "identity"}, getActivationType()))
    return emitOpError("activation_type '")
           << getActivationType() << "'; known are relu, gelu, silu, swiglu and identity";
  if (getSwigluFusion() < 0 || getSwigluFusion() > 2)
    return emitOpError("swiglu_fusion is ") << getSwigluFusion() << "; wanted 0, 1 or 2";
  if (getUseSparseMixer())
    return emitOpError("use_sparse_mixer is not supported");
  ArrayRef<SymbolicExpr> weights = shapes.shape(getFc1ExpertsWeights());
  std::optional<int64_t> experts = weights[0].constant();
  if (!experts)
    return emitOpError("the number of experts is not known when compiling");
  if (shapes.shape(getRouterProbs())[1].isNever(*experts))
    return emitOpError("router_probs has ")
           << shapes.str(shapes.shape(getRouterProbs())[1]) << " columns for " << *experts << " experts";
  if (getK() < 1 || getK() > *experts)
    return emitOpError("k is ") << getK() << "; wanted 1 to " << *experts;
  return inferLike(*this, shapes, getInput());
}

/// Weights E × N × bytes of one projection, its scales, bias and zero points, for rows of `width`.
static LogicalResult checkProjection(MsQMoEOp op, SymbolicShapes &shapes, StringRef name, Value weights, Value scales,
                                     Value bias, Value zeros, int64_t bits, const SymbolicExpr &width) {
  if (bits != 2 && bits != 4 && bits != 8)
    return op.emitOpError() << "the weights of " << name << " have " << bits << " bits, wanted 2, 4 or 8";
  if (failed(checkRank(op, shapes, weights, (name + "_experts_weights").str(), 3, 3)))
    return failure();
  Dims dims(shapes.shape(weights));
  std::optional<int64_t> experts = dims[0].constant(), rows = dims[1].constant(), bytes = dims[2].constant();
  if (!elementType(weights).isUnsignedInteger(8) || !experts || !rows || !bytes || *bytes < 1)
    return op.emitOpError() << "the weights of " << name << " must be uint8 of known extents";
  int64_t columns = *bytes * (8 / bits), block = op.getBlockSize().value_or(0) > 0 ? *op.getBlockSize() : columns;
  if (width.isNever(columns))
    return op.emitOpError() << "the weights of " << name << " have " << columns << " columns for rows of "
                            << shapes.str(width);
  if (columns % block || block * bits % 8)
    return op.emitOpError() << "block_size " << block << " does not divide the " << columns << " columns of " << name;
  int64_t blocks = columns / block;
  auto holds = [&](Value value, StringRef what, int64_t wanted) -> LogicalResult {
    if (shapes.elements(value).isConstant(wanted) && shapes.shape(value)[0].isConstant(*experts))
      return success();
    return op.emitOpError() << name << "_" << what << " has shape " << shapes.str(shapes.shape(value)) << ", wanted "
                            << wanted << " elements for " << *experts << " experts";
  };
  if (!scales)
    return op.emitOpError() << name << "_scales are missing";
  if (!isa<FloatType>(elementType(scales)))
    return op.emitOpError() << name << "_scales have element type " << elementType(scales) << ", wanted a float";
  if (failed(holds(scales, "scales", *experts * *rows * blocks)) ||
      (bias && failed(holds(bias, "experts_bias", *experts * *rows))))
    return failure();
  // Without blocks the zero points of all rows follow each other.
  int64_t zeroBytes = blocks == 1 && shapes.rank(scales) == 2 ? llvm::divideCeil(*rows * bits, 8)
                                                              : *rows * llvm::divideCeil(blocks * bits, 8);
  return zeros ? holds(zeros, "zero_points", *experts * zeroBytes) : success();
}

LogicalResult MsQMoEOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(checkRank(*this, shapes, getInput(), "input", 2, 3)) ||
      failed(checkRank(*this, shapes, getRouterProbs(), "router_probs", 2, 2)))
    return failure();
  if (getQuantType() != "int")
    return emitOpError() << "quant_type '" << getQuantType() << "' is not supported; int is";
  if (getWeightsPrepacked() > 0)
    return emitOpError() << "weights_prepacked is " << getWeightsPrepacked() << ", wanted 0 or -1";
  if (!llvm::is_contained({"relu", "gelu", "silu", "swiglu", "identity"}, getActivationType()))
    return emitOpError() << "activation_type '" << getActivationType()
                         << "'; known are relu, gelu, silu, swiglu and identity";
  if (getSwigluFusion() < 0 || getSwigluFusion() > 2)
    return emitOpError() << "swiglu_fusion is " << getSwigluFusion() << "; wanted 0, 1 or 2";
  if (getUseSparseMixer() || getSwigluLimitAfterActivation())
    return emitOpError() << "use_sparse_mixer and swiglu_limit_after_activation are not supported";
  for (Value scale : {getFc1GlobalScale(), getFc2GlobalScale(), getFc1ActScale(), getFc2ActScale(),
                      getFc1ActBlockScale(), getFc2ActBlockScale()})
    if (scale)
      return emitOpError() << "global and activation scales are not supported";
  SymbolicExpr width = shapes.shape(getInput()).back();
  int64_t bits = getExpertWeightBits();
  if (failed(checkProjection(*this, shapes, "fc1", getFc1ExpertsWeights(), getFc1Scales(), getFc1ExpertsBias(),
                             getFc1ZeroPoints(), getFc1ExpertWeightBits().value_or(bits), width)))
    return failure();
  if (getFc3ExpertsWeights() &&
      failed(checkProjection(*this, shapes, "fc3", getFc3ExpertsWeights(), getFc3Scales(), getFc3ExpertsBias(),
                             getFc3ZeroPoints(), getFc3ExpertWeightBits().value_or(bits), width)))
    return failure();
  bool fused = getActivationType() == "swiglu" && !getFc3ExpertsWeights();
  int64_t inner = *shapes.shape(getFc1ExpertsWeights())[1].constant() / (fused ? 2 : 1);
  if (failed(checkProjection(*this, shapes, "fc2", getFc2ExpertsWeights(), getFc2Scales(), getFc2ExpertsBias(),
                             getFc2ZeroPoints(), getFc2ExpertWeightBits().value_or(bits), inner)))
    return failure();
  int64_t experts = *shapes.shape(getFc1ExpertsWeights())[0].constant();
  for (Value router : {getRouterProbs(), getRouterWeights()})
    if (router && (shapes.rank(router) != 2 || shapes.shape(router)[1].isNever(experts)))
      return emitOpError() << "the router has shape " << shapes.str(shapes.shape(router)) << " for " << experts
                           << " experts";
  if (getK() < 1 || getK() > experts)
    return emitOpError() << "k is " << getK() << "; wanted 1 to " << experts;
  return inferLike(*this, shapes, getInput());
}
