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
