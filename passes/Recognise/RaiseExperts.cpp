// Pass raise-experts.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/DiagnoseExports.h"
#include "passes/Recognise/ExpertForms.h"
#include "passes/Recognise/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_RAISEEXPERTSPASS
#include "passes/Recognise/Passes.h.inc"

namespace {

struct NamedForm {
  const char *name;
  ExpertForm rule;
};

constexpr NamedForm kForms[] = {{"com.microsoft.MoE", raiseMsMoe}, {"com.microsoft.QMoE", raiseMsQMoe},
                                {"batched", raiseBatched},         {"loop", raiseExpertLoop},
                                {"sorted", raiseSorted},           {"dense", raiseDense},
                                {"dense loop", raiseDenseLoop}};

/// "form 'loop': node 'x' is no …".
std::string missText(StringRef form, const FormMiss &miss) {
  auto node = miss.op->getAttrOfType<StringAttr>("onnx.node");
  StringRef name = node && !node.empty() ? node.getValue() : miss.op->getName().stripDialect();
  return ("form '" + form + "': node '" + name + "' " + miss.why).str();
}

struct RaiseExpertsPass : impl::RaiseExpertsPassBase<RaiseExpertsPass> {
  void runOnOperation() override {
    SymbolicShapes shapes;
    if (failed(shapes.run(getOperation())))
      return signalPassFailure();
    RaiseContext context{OpBuilder(&getContext()), shapes, {}, {}, {}};
    Block &body = getOperation().getBody().front();
    SmallVector<Operation *> operations;
    for (Operation &op : body.without_terminator())
      operations.push_back(&op);
    diagnoseExports(body, shapes);
    // What an attempt that fails builds may be wrong; that is no matter of the user's.
    ScopedDiagnosticHandler silent(&getContext(), [](Diagnostic &) { return success(); });
    for (Operation *op : operations)
      raise(op, context);
    for (Operation *op : llvm::reverse(operations))
      if (op->use_empty() && isMemoryEffectFree(op))
        op->erase();
  }

  void raise(Operation *op, RaiseContext &context) {
    context.builder.setInsertionPoint(op);
    for (const NamedForm &form : kForms) {
      context.miss = {};
      context.form = form.name;
      if (form.rule(op, context)) {
        ++raised;
        return;
      }
      if (context.miss.op)
        op->setAttr(kMissedAttr, StringAttr::get(&getContext(), missText(form.name, context.miss)));
    }
  }
};

} // namespace
} // namespace farskip
