// Pass lower-model-ops.
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Lower/AttentionKernel.h"
#include "passes/Lower/PackedMatMulKernel.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_LOWERMODELOPSPASS
#include "passes/Lower/Passes.h.inc"

namespace {

struct LowerModelOpsPass : impl::LowerModelOpsPassBase<LowerModelOpsPass> {
  DenseMap<std::tuple<Attribute, Attribute, Type>, FlatSymbolRefAttr> known;

  void runOnOperation() override {
    SmallVector<DestinationStyleOpInterface> ops;
    getOperation().walk([&](DestinationStyleOpInterface op) {
      if (isa<moe::AttentionOp, moe::PackedMatMulOp>(op.getOperation()))
        ops.push_back(op);
    });
    known.clear();
    for (DestinationStyleOpInterface op : ops) {
      if (!op.hasPureBufferSemantics()) {
        op.emitOpError("is not on buffers");
        return signalPassFailure();
      }
      lower(op);
    }
  }

  void lower(Operation *op) {
    OpBuilder builder(op);
    Type types = builder.getFunctionType(op->getOperandTypes(), {});
    FlatSymbolRefAttr &kernel = known[{op->getName().getIdentifier(), op->getAttrDictionary(), types}];
    auto attention = dyn_cast<moe::AttentionOp>(op);
    if (!kernel) {
      OwningOpRef<func::FuncOp> function =
          attention ? buildAttentionKernel(attention) : buildPackedMatMulKernel(cast<moe::PackedMatMulOp>(op));
      function->setSymName(op->getName().stripDialect().str() + "_" + std::to_string(known.size() - 1));
      useApproximations(*function);
      kernel = FlatSymbolRefAttr::get(function->getSymNameAttr());
      getOperation().push_back(function.release());
      ++kernels;
    }
    // A block of columns of a product is a whole line of its result.
    Value count = attention ? attentionTasks(builder, attention)
                            : memref::DimOp::create(builder, op->getLoc(), op->getOperands().back(), 1).getResult();
    Value grain = arith::ConstantIndexOp::create(builder, op->getLoc(), attention ? 1 : 16);
    rt::ParallelForOp::create(builder, op->getLoc(), kernel, count, grain, op->getOperands());
    op->erase();
    ++calls;
  }

  /// Polynomials in place of calls of the C library, which take a lane each.
  void useApproximations(func::FuncOp function) {
    RewritePatternSet patterns(&getContext());
    auto wanted = [](StringRef name) { return name == "math.exp" || name == "math.tanh"; };
    populateMathPolynomialApproximationPatterns(patterns, wanted);
    (void)applyPatternsGreedily(function, std::move(patterns));
  }
};

} // namespace
} // namespace farskip
