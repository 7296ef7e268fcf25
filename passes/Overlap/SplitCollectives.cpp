// Pass moe-split-collectives.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Overlap/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_SPLITCOLLECTIVESPASS
#include "passes/Overlap/Passes.h.inc"

namespace {

struct SplitCollectivesPass : impl::SplitCollectivesPassBase<SplitCollectivesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> exchanges;
    getOperation().walk([&](Operation *op) {
      if (isa<moe::DispatchOp, moe::CombineOp, moe::AllReduceOp>(op))
        exchanges.push_back(op);
    });
    for (Operation *op : exchanges) {
      OpBuilder b(op);
      OperationState start(op->getLoc(), (op->getName().getStringRef() + "_start").str());
      start.addOperands(op->getOperands());
      start.addAttributes(op->getAttrs());
      start.addTypes({op->getResult(0).getType(), moe::FutureType::get(&getContext())});
      Operation *started = b.create(start);
      auto wait = moe::WaitOp::create(b, op->getLoc(), op->getResult(0).getType(), started->getResult(1),
                                      started->getResult(0), op->getOperand(0));
      op->replaceAllUsesWith(wait);
      op->erase();
      ++split;
    }
  }
};

} // namespace
} // namespace farskip
