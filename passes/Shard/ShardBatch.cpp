// Pass shard-batch.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/Passes.h"
#include "passes/Shard/BatchAxis.h"
#include "passes/Shard/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_SHARDBATCHPASS
#include "passes/Shard/Passes.h.inc"

namespace {

/// The names of an argument's dimensions.
class DimNames {
public:
  DimNames(func::FuncOp function) : function(function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      names.push_back(function.getArgAttrOfType<ArrayAttr>(i, "onnx.dims"));
  }
  StringRef get(unsigned argument, int64_t axis) const {
    auto name = names[argument] ? dyn_cast<StringAttr>(names[argument][axis]) : StringAttr();
    return name ? name.getValue() : "";
  }
  void set(unsigned argument, int64_t axis, StringRef name) {
    auto type = cast<RankedTensorType>(function.getArgument(argument).getType());
    Builder b(function.getContext());
    SmallVector<Attribute> all(type.getRank(), b.getStringAttr(""));
    if (auto now = function.getArgAttrOfType<ArrayAttr>(argument, "onnx.dims"))
      all.assign(now.begin(), now.end());
    all[axis] = b.getStringAttr(name);
    function.setArgAttr(argument, "onnx.dims", b.getArrayAttr(all));
  }
  void restore() {
    for (auto [i, name] : llvm::enumerate(names))
      if (name)
        function.setArgAttr(i, "onnx.dims", name);
      else
        function.removeArgAttr(i, "onnx.dims");
  }

private:
  func::FuncOp function;
  SmallVector<ArrayAttr> names;
};

struct ShardBatchPass : impl::ShardBatchPassBase<ShardBatchPass> {
  using ShardBatchPassBase::ShardBatchPassBase;

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || ranks < 2)
      return;
    for (Operation &op : main.getBody().front())
      if (auto missed = op.getAttrOfType<StringAttr>(kMissedAttr))
        op.emitWarning() << "what looks like a mixture-of-experts block is not spread over the ranks: "
                         << missed.getValue();
    if (replicate) {
      getOperation().emitWarning() << "heads are not split over the ranks: each rank computes what is outside the "
                                      "experts, for all tokens";
      return markReplicated();
    }
    reason = BatchState();
    bool dynamic = false;
    for (BlockArgument argument : main.getArguments())
      for (auto [axis, extent] : llvm::enumerate(cast<RankedTensorType>(argument.getType()).getShape())) {
        if (!ShapedType::isDynamic(extent))
          continue;
        dynamic = true;
        if (derive(main, argument.getArgNumber(), axis, /*alike=*/false) ||
            derive(main, argument.getArgNumber(), axis, /*alike=*/true))
          return;
      }
    if (!dynamic) {
      getOperation().emitWarning() << "all extents of the model are fixed, its batch too, so sequences are not spread "
                                      "over the ranks; each rank computes what is outside the experts";
      return markReplicated();
    }
    InFlightDiagnostic error = getOperation().emitError()
                               << "which axis counts the sequences of the batch cannot be derived, so they cannot be "
                                  "spread over "
                               << ranks.getValue() << " ranks: ";
    if (reason.cause)
      if (auto node = reason.cause->getAttrOfType<StringAttr>("onnx.node"))
        error << "at node '" << node.getValue() << "' (" << reason.cause->getName().stripDialect() << "), ";
    error << (reason.reason.empty() ? "no input is used along a batch" : reason.reason)
          << "; use --ranks=1 or --attention=tensor";
    signalPassFailure();
  }

  void markReplicated() { getOperation()->setAttr(kReplicatedAttr, UnitAttr::get(&getContext())); }

  /// Tries the axis of one argument; `alike` takes the leading axis of every other argument for the same.
  bool derive(func::FuncOp main, unsigned argument, int64_t axis, bool alike) {
    DimNames names(main);
    std::string name = names.get(argument, axis).str();
    if (name.empty())
      name = "batch";
    bool changed = names.get(argument, axis).empty();
    names.set(argument, axis, name);
    if (alike)
      for (BlockArgument other : main.getArguments()) {
        auto type = cast<RankedTensorType>(other.getType());
        unsigned i = other.getArgNumber();
        if (type.getRank() == 0 || !type.isDynamicDim(0) || names.get(i, 0) == name || (i == argument && axis == 0))
          continue;
        names.set(i, 0, name);
        changed = true;
      }
    if (alike && !changed)
      return false;
    SymbolicShapes shapes;
    if (failed(shapes.run(main)))
      return false;
    std::optional<SymbolicExpr::Symbol> symbol = shapes.shape(main.getArgument(argument))[axis].asSymbol();
    if (symbol) {
      BatchAxis batch(main, shapes, *symbol);
      bool sliced = llvm::any_of(main.getBody().front().getTerminator()->getOperands(),
                                 [&](Value result) { return batch.state(result).isSlice(); });
      if (!batch.failure() && sliced) {
        record(main, batch);
        return true;
      }
      // Of all tries the one that gets furthest tells what really stands in the way.
      if (const BatchState *failure = batch.failure())
        if (!reason.cause || (failure->cause && reason.cause->isBeforeInBlock(failure->cause)))
          reason = *failure;
    }
    names.restore();
    return false;
  }

  void record(func::FuncOp main, BatchAxis &batch) {
    Builder b(&getContext());
    for (BlockArgument argument : main.getArguments())
      if (const BatchState &state = batch.state(argument); state.isSlice()) {
        main.setArgAttr(argument.getArgNumber(), kShardAxisAttr, b.getI64IntegerAttr(state.axis));
        ++inputs;
      }
    for (auto [i, result] : llvm::enumerate(main.getBody().front().getTerminator()->getOperands()))
      if (const BatchState &state = batch.state(result); state.isSlice())
        main.setResultAttr(i, kShardAxisAttr, b.getI64IntegerAttr(state.axis));
  }

  BatchState reason;
};

} // namespace
} // namespace farskip
