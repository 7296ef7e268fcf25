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
      if (isa<onnx::MsSkipSimplifiedLayerNormalizationOp, onnx::MsSkipLayerNormalizationOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto rms = dyn_cast<onnx::MsSkipSimplifiedLayerNormalizationOp>(op))
        splitNorm(op, {rms.getInput(), rms.getSkip(), rms.getBias(), rms.getGamma(), {}},
                  "onnx.SimplifiedLayerNormalization");
      else if (auto layer = dyn_cast<onnx::MsSkipLayerNormalizationOp>(op))
        splitNorm(op, {layer.getInput(), layer.getSkip(), layer.getBias(), layer.getGamma(), layer.getBeta()},
                  "onnx.LayerNormalization");
    }
  }

  struct Parts {
    Value input, skip, bias, gamma, beta;
  };

  /// sum = skip + (input + bias), y = norm(sum).
  void splitNorm(Operation *op, const Parts &parts, StringRef norm) {
    OpBuilder b(op);
    auto outputs = op->getAttrOfType<ArrayAttr>("onnx.outputs");
    auto named = [&](unsigned i, StringRef suffix) -> Attribute {
      StringAttr name = outputs && i < outputs.size() ? dyn_cast<StringAttr>(outputs[i]) : StringAttr();
      return name && !name.empty() ? name : b.getStringAttr(nodeName(op) + suffix);
    };
    auto add = [&](Value x, Value y, Attribute output, StringRef suffix) -> Value {
      auto sum = onnx::AddOp::create(b, op->getLoc(), op->getResult(3).getType(), x, y);
      sum->setAttr("onnx.node", b.getStringAttr(nodeName(op) + suffix));
      sum->setAttr("onnx.outputs", b.getArrayAttr({output}));
      return sum;
    };
    Value contribution = parts.input;
    if (parts.bias)
      contribution = add(contribution, parts.bias, b.getStringAttr(nodeName(op) + "/bias"), "/bias");
    Value sum = add(parts.skip, contribution, named(3, "/sum"), "/sum");
    OperationState state(op->getLoc(), norm);
    state.addOperands({sum, parts.gamma});
    if (parts.beta)
      state.addOperands(parts.beta);
    SmallVector<Type> types{op->getResult(0).getType()};
    // The mean and the inverse deviation, or the latter alone.
    for (unsigned i = norm == "onnx.LayerNormalization" ? 1 : 2; i < 3; ++i)
      types.push_back(op->getResult(i).getType());
    state.addTypes(types);
    state.addAttribute("axis", b.getI64IntegerAttr(-1));
    if (Attribute epsilon = op->getAttr("epsilon"))
      state.addAttribute("epsilon", epsilon);
    state.addAttribute("onnx.node", b.getStringAttr(nodeName(op)));
    state.addAttribute("onnx.outputs", b.getArrayAttr({named(0, "/norm")}));
    Operation *made = b.create(state);
    op->getResult(3).replaceAllUsesWith(sum);
    op->getResult(0).replaceAllUsesWith(made->getResult(0));
    for (unsigned i : {1u, 2u})
      op->getResult(i).replaceAllUsesWith(made->getResult(made->getNumResults() == 3 ? i : 1));
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
