// Pass fuse-elementwise.
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Lower/Contraction.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "passes/Lower/Passes.h.inc"

namespace {

struct FuseElementwisePass : impl::FuseElementwisePassBase<FuseElementwisePass> {
  using FuseElementwisePassBase::FuseElementwisePassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    int64_t limit = maxBody;
    auto bodySize = [](Operation *op) -> int64_t {
      return op->getNumRegions() == 1 && op->getRegion(0).hasOneBlock()
                 ? op->getRegion(0).front().getOperations().size()
                 : 0;
    };
    linalg::ControlFusionFn control = [=](OpOperand *operand) {
      Operation *producer = operand->get().getDefiningOp();
      // A factor of a product is used many times: it must not be computed as often.
      if (Contraction::match(operand->getOwner()))
        return false;
      return producer && producer->hasOneUse() && bodySize(producer) + bodySize(operand->getOwner()) <= limit;
    };
    linalg::populateElementwiseOpsFusionPatterns(patterns, control);
    linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, control);
    tensor::EmptyOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, &getContext());
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    linalg::populateConstantFoldLinalgOperations(patterns, control);
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal();
    // Fails only to say that it stopped before nothing changed any more; the program is right then too.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }
};

} // namespace
} // namespace farskip
