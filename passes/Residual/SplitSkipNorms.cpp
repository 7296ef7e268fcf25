// Pass split-skip-norms.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/OnnxOps.h"
#include "passes/Residual/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_SPLITSKIPNORMSPASS
#include "passes/Residual/Passes.h.inc"

namespace {

struct SplitSkipNormsPass : impl::SplitSkipNormsPassBase<SplitSkipNormsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (op->getName().getStringRef() == "onnx.ms.SkipSimplifiedLayerNormalization" && !op->getResult(3).use_empty() &&
          op->getNumOperands() == 3)
        ops.push_back(op);
    });
    for (Operation *op : ops)
      splitNorm(op);
  }

  /// (x, skip, γ) without bias: sum = x + skip, y = norm(sum).
  void splitNorm(Operation *op) {
    OpBuilder b(op);
    auto outputs = op->getAttrOfType<ArrayAttr>("onnx.outputs");
    auto named = [&](unsigned i, StringRef suffix) -> Attribute {
      StringAttr name = outputs && i < outputs.size() ? dyn_cast<StringAttr>(outputs[i]) : StringAttr();
      return name && !name.empty() ? name : b.getStringAttr(nodeName(op) + suffix);
    };
    Type type = op->getResult(3).getType();
    auto sum = onnx::AddOp::create(b, op->getLoc(), type, op->getOperand(1), op->getOperand(0));
    sum->setAttr("onnx.node", b.getStringAttr(nodeName(op) + "/sum"));
    sum->setAttr("onnx.outputs", b.getArrayAttr({named(3, "/sum")}));
    OperationState state(op->getLoc(), "onnx.SimplifiedLayerNormalization");
    state.addOperands({sum.getResult(), op->getOperand(2)});
    SmallVector<Type> types{op->getResult(0).getType()};
    std::optional<RegisteredOperationName> name =
        RegisteredOperationName::lookup("onnx.SimplifiedLayerNormalization", &getContext());
    if (name && !name->hasTrait<OpTrait::OneResult>())
      types.push_back(op->getResult(2).getType());
    state.addTypes(types);
    state.addAttribute("axis", b.getI64IntegerAttr(-1));
    if (Attribute epsilon = op->getAttr("epsilon"))
      state.addAttribute("epsilon", epsilon);
    state.addAttribute("onnx.node", b.getStringAttr(nodeName(op)));
    state.addAttribute("onnx.outputs", b.getArrayAttr({named(0, "/norm")}));
    Operation *norm = b.create(state);
    op->getResult(3).replaceAllUsesWith(sum.getResult());
    op->getResult(0).replaceAllUsesWith(norm->getResult(0));
    op->erase();
    ++split;
  }

  static std::string nodeName(Operation *op) {
    auto name = op->getAttrOfType<StringAttr>("onnx.node");
    return name && !name.empty() ? name.str() : "skip_norm";
  }
};

} // namespace
} // namespace farskip
