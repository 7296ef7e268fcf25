// Pass bind-program.
// SPDX-License-Identifier: Apache-2.0
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

  void bindWeights(func::FuncOp main) {
    SmallVector<onnx::WeightOp> ops;
    main.walk([&](onnx::WeightOp op) { ops.push_back(op); });
    OpBuilder builder(&getContext());
    SmallVector<int64_t> table;
    std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> places;
    int64_t end = kWeightsHeader;
    for (onnx::WeightOp op : ops) {
      int64_t file = op.getFile(), offset = op.getOffset(), length = op.getLength();
      auto [at, inserted] = places.try_emplace({file, offset, length}, end);
      if (inserted) {
        table.append({file, offset, length, end});
        end = llvm::alignTo(end + length, 64);
      } else {
        ++shared;
      }
      ++weights;
      auto type = cast<RankedTensorType>(op.getOutput().getType());
      builder.setInsertionPoint(op);
      Value buffer = rt::WeightOp::create(builder, op.getLoc(), bufferOf(type), builder.getI64IntegerAttr(at->second));
      op.replaceAllUsesWith(
          bufferization::ToTensorOp::create(builder, op.getLoc(), type, buffer, /*restrict=*/true).getResult());
      op.erase();
    }
    getOperation()->setAttr(kWeightsAttr, builder.getDenseI64ArrayAttr(table));
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
