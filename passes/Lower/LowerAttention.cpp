// Pass lower-attention.
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Lower/AttentionKernel.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_LOWERATTENTIONPASS
#include "passes/Lower/Passes.h.inc"

namespace {

struct LowerAttentionPass : impl::LowerAttentionPassBase<LowerAttentionPass> {
  void runOnOperation() override {
    SmallVector<moe::AttentionOp> ops;
    getOperation().walk([&](moe::AttentionOp op) { ops.push_back(op); });
    DenseMap<std::pair<Attribute, Type>, FlatSymbolRefAttr> known;
    for (moe::AttentionOp op : ops) {
      if (op.getResult()) {
        op.emitOpError("is not on buffers");
        return signalPassFailure();
      }
      OpBuilder builder(op);
      Type types = builder.getFunctionType(op->getOperandTypes(), {});
      FlatSymbolRefAttr &kernel = known[{op->getAttrDictionary(), types}];
      if (!kernel) {
        OwningOpRef<func::FuncOp> function = buildAttentionKernel(op);
        function->setSymName("attention_" + std::to_string(known.size() - 1));
        useApproximations(*function);
        kernel = FlatSymbolRefAttr::get(function->getSymNameAttr());
        getOperation().push_back(function.release());
        ++kernels;
      }
      Value tasks = attentionTasks(builder, op);
      Value grain = arith::ConstantIndexOp::create(builder, op.getLoc(), 1);
      rt::ParallelForOp::create(builder, op.getLoc(), kernel, tasks, grain, op->getOperands());
      op.erase();
      ++calls;
    }
  }

  /// Polynomials in place of calls of the C library, which take a lane each.
  void useApproximations(func::FuncOp function) {
    RewritePatternSet patterns(&getContext());
    auto wanted = [](StringRef name) { return name == "math.exp" || name == "math.tanh"; };
    populateMathPolynomialApproximationPatterns(patterns, wanted);
    (void)applyPatternsGreedily(function, std::move(patterns));
  }
};

} // namespace
} // namespace farskip
