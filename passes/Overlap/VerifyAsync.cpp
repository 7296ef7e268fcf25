// Pass verify-async.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Overlap/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_VERIFYASYNCPASS
#include "passes/Overlap/Passes.h.inc"

namespace {

struct VerifyAsyncPass : impl::VerifyAsyncPassBase<VerifyAsyncPass> {
  void runOnOperation() override {
    bool good = true;
    getOperation().walk([&](Operation *op) {
      if (isa<moe::DispatchStartOp, moe::CombineStartOp, moe::AllReduceStartOp>(op))
        good &= inOneOrder(op) && waitedForOnce(op);
      else if (isa<moe::ExchangePlanOp, moe::DispatchOp, moe::CombineOp, moe::AllReduceOp>(op))
        good &= inOneOrder(op);
      else if (auto wait = dyn_cast<moe::WaitOp>(op))
        good &= belongsToStart(wait);
    });
    if (!good)
      signalPassFailure();
  }

  /// C8
  bool inOneOrder(Operation *op) {
    if (op->getParentOp() == getOperation() && op->getBlock() == &getOperation().getBody().front())
      return true;
    op->emitOpError("stands in a branch or loop: ranks may disagree whether it runs");
    return false;
  }

  static Value futureOf(Operation *start) { return start->getResult(1); }
  static Value pendingOf(Operation *start) { return start->getResult(0); }

  bool waitedForOnce(Operation *start) {
    moe::WaitOp wait;
    for (Operation *user : futureOf(start).getUsers()) {
      auto found = dyn_cast<moe::WaitOp>(user);
      if (!found) {
        start->emitOpError("has a future that is used by what is no wait").attachNote(user->getLoc()) << "used here";
        return false;
      }
      if (wait) {
        start->emitOpError("is waited for twice").attachNote(found.getLoc()) << "and here";
        return false;
      }
      wait = found;
    }
    if (!wait) {
      start->emitOpError("is never waited for");
      return false;
    }
    if (wait->getBlock() != start->getBlock()) {
      start->emitOpError("is not waited for on every path").attachNote(wait.getLoc()) << "waited for here";
      return false;
    }
    return pendingIsAlone(start, wait) && keepsSource(start, wait);
  }

  /// C9: what is being filled is for the wait alone.
  bool pendingIsAlone(Operation *start, moe::WaitOp wait) {
    for (Operation *user : pendingOf(start).getUsers()) {
      if (user == wait)
        continue;
      start->emitOpError("fills a tensor that is used before it is there").attachNote(user->getLoc()) << "used here";
      return false;
    }
    if (wait.getPending() == pendingOf(start))
      return true;
    start->emitOpError("is waited for with another exchange's tensor").attachNote(wait.getLoc()) << "waited for here";
    return false;
  }

  /// C9: what is being read lives until the wait.
  bool keepsSource(Operation *start, moe::WaitOp wait) {
    if (llvm::is_contained(wait.getKeep(), start->getOperand(0)))
      return true;
    start->emitOpError("reads a tensor that its wait does not keep").attachNote(wait.getLoc()) << "waited for here";
    return false;
  }

  bool belongsToStart(moe::WaitOp wait) {
    Operation *start = wait.getFuture().getDefiningOp();
    if (start && isa<moe::DispatchStartOp, moe::CombineStartOp, moe::AllReduceStartOp>(start))
      return true;
    wait.emitOpError("waits for a future that no start in sight gave");
    return false;
  }
};

} // namespace
} // namespace farskip
