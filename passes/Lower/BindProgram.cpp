// Pass bind-program.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "dialects/Onnx/OnnxOps.h"
#include "passes/Lower/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_BINDPROGRAMPASS
#include "passes/Lower/Passes.h.inc"

namespace {

MemRefType bufferOf(RankedTensorType type) { return MemRefType::get(type.getShape(), type.getElementType()); }

struct BindProgramPass : impl::BindProgramPassBase<BindProgramPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main) {
      getOperation().emitError("no function @main to bind");
      return signalPassFailure();
    }
    bindInputs(main);
    bindWeights(main);
    bindOutputs(main);
    main.setFunctionType(FunctionType::get(&getContext(), {}, {}));
    main.setArgAttrsAttr(nullptr);
    main.setResAttrsAttr(nullptr);
    main.setSymName(kEntryName);
    main.setPublic();
  }

  void bindInputs(func::FuncOp main) {
    Block &body = main.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (BlockArgument argument : body.getArguments()) {
      auto type = cast<RankedTensorType>(argument.getType());
      Value buffer = rt::InputOp::create(builder, argument.getLoc(), bufferOf(type),
                                         builder.getI64IntegerAttr(argument.getArgNumber()));
      Value tensor = bufferization::ToTensorOp::create(builder, argument.getLoc(), type, buffer, /*restrict=*/true);
      argument.replaceAllUsesWith(tensor);
    }
    body.eraseArguments(0, body.getNumArguments());
  }

  /// The places of weights in the program's file: those of one list side by side.
  class WeightTable {
  public:
    /// The place of the first of `parts`, and whether the list is new.
    std::pair<int64_t, bool> place(ArrayRef<onnx::WeightOp> parts) {
      SmallVector<int64_t> key;
      for (onnx::WeightOp part : parts)
        key.append({static_cast<int64_t>(part.getFile()), static_cast<int64_t>(part.getOffset()),
                    static_cast<int64_t>(part.getLength())});
      auto [at, inserted] = places.try_emplace(std::vector<int64_t>(key.begin(), key.end()), end);
      if (!inserted)
        return {at->second, false};
      for (size_t i = 0; i < key.size(); i += 3) {
        rows.append({key[i], key[i + 1], key[i + 2], end});
        end += key[i + 2];
      }
      end = llvm::alignTo(end, 64);
      return {at->second, true};
    }
    SmallVector<int64_t> rows; ///< file, offset, length, place

  private:
    std::map<std::vector<int64_t>, int64_t> places;
    int64_t end = kWeightsHeader;
  };

  void bindWeights(func::FuncOp main) {
    SmallVector<moe::StackOp> stacks;
    main.walk([&](moe::StackOp op) { stacks.push_back(op); });
    WeightTable table;
    for (moe::StackOp op : stacks) {
      SmallVector<onnx::WeightOp> parts;
      for (Value part : op.getParts())
        parts.push_back(part.getDefiningOp<onnx::WeightOp>());
      if (llvm::is_contained(parts, onnx::WeightOp())) {
        op.emitOpError("stacks what is no weight of the model");
        return signalPassFailure();
      }
      bindWeight(op, op.getStacked(), parts, table);
      for (onnx::WeightOp part : parts)
        if (part->use_empty())
          part.erase();
    }
    SmallVector<onnx::WeightOp> ops;
    main.walk([&](onnx::WeightOp op) { ops.push_back(op); });
    for (onnx::WeightOp op : ops)
      bindWeight(op, op.getOutput(), op, table);
    getOperation()->setAttr(kWeightsAttr, DenseI64ArrayAttr::get(&getContext(), table.rows));
  }

  void bindWeight(Operation *op, Value tensor, ArrayRef<onnx::WeightOp> parts, WeightTable &table) {
    auto [place, fresh] = table.place(parts);
    if (!fresh)
      ++shared;
    ++weights;
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(tensor.getType());
    Value buffer = rt::WeightOp::create(builder, op->getLoc(), bufferOf(type), builder.getI64IntegerAttr(place));
    tensor.replaceAllUsesWith(
        bufferization::ToTensorOp::create(builder, op->getLoc(), type, buffer, /*restrict=*/true).getResult());
    op->erase();
  }

  void bindOutputs(func::FuncOp main) {
    Operation *terminator = main.getBody().front().getTerminator();
    OpBuilder builder(terminator);
    for (auto [index, result] : llvm::enumerate(terminator->getOperands())) {
      auto type = cast<RankedTensorType>(result.getType());
      Value buffer = bufferization::ToBufferOp::create(builder, terminator->getLoc(), bufferOf(type), result,
                                                       /*read_only=*/true);
      rt::OutputOp::create(builder, terminator->getLoc(), index, buffer);
    }
    func::ReturnOp::create(builder, terminator->getLoc());
    terminator->erase();
  }
};

} // namespace
} // namespace farskip
