// Pass raise-attention.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/AttentionForm.h"
#include "passes/Recognise/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "passes/Recognise/Passes.h.inc"

namespace {

struct RaiseAttentionPass : impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  void runOnOperation() override {
    SymbolicShapes shapes;
    if (failed(shapes.run(getOperation())))
      return signalPassFailure();
    AttentionReader reader(shapes);
    DenseMap<Value, SpelledMask> masks;
    OpBuilder builder(&getContext());
    SmallVector<Operation *> operations;
    for (Operation &op : getOperation().getBody().front().without_terminator())
      operations.push_back(&op);
    for (Operation *op : operations) {
      builder.setInsertionPoint(op);
      if (auto product = dyn_cast<onnx::MatMulOp>(op)) {
        std::optional<SpelledAttention> spelled = reader.read(product);
        if (!spelled)
          continue;
        GraphBuilder build(builder, op->getLoc(), shapes);
        moe::AttendOp attend = reader.build(*spelled, build);
        if (!attend)
          continue;
        if (Attribute node = op->getAttr("onnx.node"))
          attend->setAttr("onnx.node", node);
        if (spelled->mask)
          masks[attend.getY()] = *spelled->mask;
        product.getY().replaceAllUsesWith(attend.getY());
        ++raised;
      } else if (auto where = dyn_cast<onnx::WhereOp>(op)) {
        clearUnseen(where, reader, masks);
      }
    }
    eraseUnused();
  }

  /// Rows that see no key set to zero afterwards: attention does that itself.
  void clearUnseen(onnx::WhereOp where, AttentionReader &reader, const DenseMap<Value, SpelledMask> &masks) {
    auto attend = where.getY().getDefiningOp<moe::AttendOp>();
    auto mask = masks.find(where.getY());
    if (!attend || mask == masks.end() || !attend.getY().hasOneUse() || reader.reader.scalar(where.getX()) != 0 ||
        !reader.seesNothing(where.getCondition(), mask->second))
      return;
    attend.setUnseen("zero");
    where.getOutput().replaceAllUsesWith(attend.getY());
  }

  void eraseUnused() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(getOperation().getBody().front())))
      if (op.use_empty() && isMemoryEffectFree(&op) && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }
};

} // namespace
} // namespace farskip
