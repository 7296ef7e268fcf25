// Pass schedule-collectives.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Rt/RtOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Overlap/OpCost.h"
#include "passes/Overlap/Passes.h"
#include "passes/Schedule/Problem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_SCHEDULECOLLECTIVESPASS
#include "passes/Overlap/Passes.h.inc"

namespace {

using schedule::Problem;
using schedule::Schedule;
using schedule::Task;

bool isStart(Operation *op) { return isa<moe::DispatchStartOp, moe::CombineStartOp, moe::AllReduceStartOp>(op); }

/// Reads or cuts at places that the data decides: only right after the checks that stood before it.
bool needsChecks(Operation *op) {
  auto result = op->walk([](Operation *inner) {
    bool computed = isa<tensor::ExtractOp, tensor::InsertOp>(inner);
    if (isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(inner))
      computed |= llvm::any_of(inner->getOperands(), [](Value operand) { return operand.getType().isIndex(); });
    computed |= isa<tensor::EmptyOp>(inner) && inner->getNumOperands() > 0;
    return computed ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

struct ScheduleCollectivesPass : impl::ScheduleCollectivesPassBase<ScheduleCollectivesPass> {
  using ScheduleCollectivesPassBase::ScheduleCollectivesPassBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &body = getOperation().getBody().front();
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    if (llvm::none_of(ops, isStart))
      return;
    Problem problem = formulate(body, ops);
    if (llvm::Error error = problem.check()) {
      getOperation().emitError() << "internal: no scheduling problem: " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    Schedule found = schedule::listSchedule(problem);
    if (llvm::Error error = schedule::verify(problem, found.order)) {
      getOperation().emitError() << "internal: a wrong schedule: " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    apply(body, ops, problem, found);
  }

  Problem formulate(Block &body, ArrayRef<Operation *> ops) {
    CostModel cost{flops, memory, link, latency, tokens, ranks};
    Problem problem;
    DenseMap<Operation *, int64_t> number;
    int64_t lastExchange = -1, lastCheck = -1;
    for (auto [i, op] : llvm::enumerate(ops)) {
      number[op] = i;
      Task task;
      task.name = op->getName().getStringRef().str();
      llvm::SmallSetVector<int64_t, 8> after;
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *source = operand.getDefiningOp())
            if (Operation *ancestor = body.findAncestorOpInBlock(*source); ancestor && ancestor != op)
              after.insert(number[ancestor]);
      });
      if (isStart(op)) {
        task.kind = Task::Kind::Start;
        task.transfer = cost.transfer(op);
      } else if (auto wait = dyn_cast<moe::WaitOp>(op)) {
        task.kind = Task::Kind::Wait;
        task.start = number[wait.getFuture().getDefiningOp()];
        after.remove(task.start);
      } else {
        task.seconds = cost.seconds(op);
      }
      // Exchanges keep their order, so that all ranks agree; checks too, so that the first fault is the one reported.
      if (isa<rt::CheckOp>(op)) {
        chain(after, lastCheck, i);
      } else {
        if (lastCheck >= 0 && needsChecks(op))
          after.insert(lastCheck);
        if (isStart(op) || isa<moe::ExchangePlanOp>(op))
          chain(after, lastExchange, i);
      }
      task.after.assign(after.begin(), after.end());
      problem.tasks.push_back(std::move(task));
    }
    return problem;
  }

  static void chain(llvm::SmallSetVector<int64_t, 8> &after, int64_t &last, int64_t now) {
    if (last >= 0)
      after.insert(last);
    last = now;
  }

  void apply(Block &body, ArrayRef<Operation *> ops, const Problem &problem, const Schedule &found) {
    Operation *terminator = body.getTerminator();
    double total = 0, exposed = 0;
    for (auto [place, i] : llvm::enumerate(found.order)) {
      ops[i]->moveBefore(terminator);
      moved += static_cast<int64_t>(place) != i;
    }
    for (auto [i, task] : llvm::enumerate(problem.tasks)) {
      if (task.kind == Task::Kind::Start) {
        ++exchanges;
        total += task.transfer;
      }
      if (task.kind == Task::Kind::Wait && found.exposed[i] > 0) {
        exposed += found.exposed[i];
        ops[i]->emitRemark() << "waits " << llvm::formatv("{0:f1}", found.exposed[i] * 1e6) << " us of an exchange of "
                             << llvm::formatv("{0:f1}", problem.tasks[task.start].transfer * 1e6)
                             << " us: nothing else can run";
      }
    }
    if (total > 0)
      hidden += static_cast<int64_t>(100 * std::max(0.0, total - exposed) / total);
  }
};

} // namespace
} // namespace farskip
