// How One-Shot Bufferize sees the moe dialect.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;

namespace farskip::moe {

namespace {
/// Operations that overwrite their last operand, whose earlier contents nobody reads.
template <typename OpT>
struct OverwritingModel : bufferization::DstBufferizableOpInterfaceExternalModel<OverwritingModel<OpT>, OpT> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const bufferization::AnalysisState &) const {
    return !cast<OpT>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (isa<TensorType>(operand.getType())) {
        FailureOr<Value> buffer = bufferization::getBuffer(rewriter, operand, options, state);
        if (failed(buffer))
          return failure();
        operand = *buffer;
      }
      operands.push_back(operand);
    }
    OpT::create(rewriter, op->getLoc(), TypeRange{}, operands, op->getAttrs());
    Value out = operands.back();
    bufferization::replaceOpWithBufferizedValues(rewriter, op, op->getNumResults() ? ValueRange(out) : ValueRange());
    return success();
  }
};
} // namespace

void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MoeDialect *) {
    AttentionOp::attachInterface<OverwritingModel<AttentionOp>>(*context);
    PackedMatMulOp::attachInterface<OverwritingModel<PackedMatMulOp>>(*context);
    ProductOp::attachInterface<OverwritingModel<ProductOp>>(*context);
  });
}

} // namespace farskip::moe
