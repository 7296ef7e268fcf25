// Pass lower-plans.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "passes/Lower/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_LOWERPLANSPASS
#include "passes/Lower/Passes.h.inc"

namespace {

struct LowerPlansPass : impl::LowerPlansPassBase<LowerPlansPass> {
  void runOnOperation() override {
    SmallVector<moe::PlanSizesOp> sizes;
    getOperation().walk([&](moe::PlanSizesOp op) { sizes.push_back(op); });
    for (moe::PlanSizesOp op : sizes) {
      OpBuilder b(op);
      Type handle = rt::PlanType::get(&getContext());
      Value plan = UnrealizedConversionCastOp::create(b, op.getLoc(), handle, op.getPlan()).getResult(0);
      op.replaceAllUsesWith(ValueRange{rt::PlanReceivedOp::create(b, op.getLoc(), b.getIndexType(), plan),
                                       rt::PlanPairsOp::create(b, op.getLoc(), b.getIndexType(), plan)});
      op.erase();
    }
    SmallVector<UnrealizedConversionCastOp> casts;
    getOperation().walk([&](UnrealizedConversionCastOp op) { casts.push_back(op); });
    for (UnrealizedConversionCastOp op : casts) {
      auto inner = op.getOperand(0).getDefiningOp<UnrealizedConversionCastOp>();
      if (inner && inner.getOperand(0).getType() == op.getResult(0).getType())
        op.getResult(0).replaceAllUsesWith(inner.getOperand(0));
    }
    for (UnrealizedConversionCastOp op : llvm::reverse(casts))
      if (op->use_empty())
        op.erase();
    SmallVector<rt::PlanCreateOp> plans;
    getOperation().walk([&](rt::PlanCreateOp op) { plans.push_back(op); });
    for (rt::PlanCreateOp plan : plans)
      destroyAfterLastUse(plan);
  }

  /// A plan lives until the exchanges by it have been waited for.
  void destroyAfterLastUse(rt::PlanCreateOp plan) {
    Block *block = plan->getBlock();
    Operation *last = plan;
    auto reach = [&](Operation *user) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (ancestor && last->isBeforeInBlock(ancestor))
        last = ancestor;
    };
    for (Operation *user : plan.getPlan().getUsers()) {
      reach(user);
      for (Value result : user->getResults())
        if (isa<rt::RequestType>(result.getType()))
          for (Operation *wait : result.getUsers())
            reach(wait);
    }
    OpBuilder b(&getContext());
    b.setInsertionPointAfter(last);
    rt::PlanDestroyOp::create(b, plan.getLoc(), plan.getPlan());
  }
};

} // namespace
} // namespace farskip
