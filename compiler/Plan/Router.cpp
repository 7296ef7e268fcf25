// How tokens choose their experts, read off the operators before moe.experts.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Plan/Router.h"
#include "dialects/Onnx/OnnxOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace farskip;
using namespace farskip::onnx;
using namespace mlir;

/// The operations that compute `value`, up to products and what `stop` holds.
static llvm::DenseSet<Operation *> slice(Value value, const llvm::DenseSet<Operation *> &stop) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || stop.contains(op) || !seen.insert(op).second || isa<MatMulOp, GemmOp>(op))
      continue;
    llvm::append_range(work, op->getOperands());
  }
  return seen;
}

template <typename... Ops> static bool has(const llvm::DenseSet<Operation *> &ops) {
  return llvm::any_of(ops, [](Operation *op) { return isa<Ops...>(op); });
}

RouterPlan farskip::readRouter(moe::ExpertsOp experts) {
  RouterPlan plan;
  llvm::DenseSet<Operation *> choice = slice(experts.getExperts(), {});
  // The last top-k is the one whose indices are the experts.
  TopKOp chosen;
  for (Operation *op : choice)
    if (auto top = dyn_cast<TopKOp>(op))
      if (!chosen || chosen->isBeforeInBlock(top))
        chosen = top;
  if (!chosen)
    return plan;
  llvm::DenseSet<Operation *> before = slice(chosen.getX(), {});
  plan.groups = has<TopKOp>(before);
  if (has<SoftmaxOp>(before))
    plan.score = "softmax";
  else if (has<SigmoidOp>(before))
    plan.score = "sigmoid";
  // Scores plus a parameter, before the choice.
  for (Operation *op : before)
    if (auto add = dyn_cast<AddOp>(op); add && plan.score != "none")
      for (Value side : add->getOperands())
        plan.bias |= isa_and_nonnull<WeightOp, ConstantOp>(side.getDefiningOp()) &&
                     cast<RankedTensorType>(side.getType()).getNumElements() > 1;
  llvm::DenseSet<Operation *> stop = before;
  stop.insert(chosen);
  llvm::DenseSet<Operation *> after = slice(experts.getWeights(), stop);
  if (plan.score == "none" && has<SoftmaxOp>(after))
    plan.score = "softmax of the chosen";
  else if (plan.score == "none" && has<SigmoidOp>(after))
    plan.score = "sigmoid";
  plan.normalised = has<ReduceSumOp, ReduceL1Op>(after) && has<DivOp>(after);
  return plan;
}
