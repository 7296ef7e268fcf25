// Pass raise-experts.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/ExpertForms.h"
#include "passes/Recognise/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_RAISEEXPERTSPASS
#include "passes/Recognise/Passes.h.inc"

namespace {

constexpr ExpertForm kForms[] = {raiseMsMoe, raiseMsQMoe};

struct RaiseExpertsPass : impl::RaiseExpertsPassBase<RaiseExpertsPass> {
  void runOnOperation() override {
    SymbolicShapes shapes;
    if (failed(shapes.run(getOperation())))
      return signalPassFailure();
    RaiseContext context{OpBuilder(&getContext()), shapes};
    Block &body = getOperation().getBody().front();
    SmallVector<Operation *> operations;
    for (Operation &op : body.without_terminator())
      operations.push_back(&op);
    for (Operation *op : operations) {
      context.builder.setInsertionPoint(op);
      for (ExpertForm form : kForms)
        if (form(op, context)) {
          ++raised;
          break;
        }
    }
    for (Operation *op : llvm::reverse(operations))
      if (op->use_empty() && isMemoryEffectFree(op))
        op->erase();
  }
};

} // namespace
} // namespace farskip
