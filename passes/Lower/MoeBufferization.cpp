// How the operations of the moe dialect are put on buffers.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Lower/MoeBufferization.h"
#include "dialects/Moe/MoeOps.h"
#include "dialects/Rt/RtOps.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace farskip;
using namespace mlir;
using namespace mlir::bufferization;

namespace {

/// The buffer of a tensor in row-major order, as the run-time takes it: a copy where it is strided.
FailureOr<Value> rowMajor(RewriterBase &rewriter, Location loc, Value tensor, const BufferizationOptions &options,
                          BufferizationState &state) {
  FailureOr<Value> buffer = getBuffer(rewriter, tensor, options, state);
  if (failed(buffer))
    return failure();
  auto type = cast<MemRefType>(buffer->getType());
  if (type.getLayout().isIdentity())
    return buffer;
  SmallVector<Value> sizes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (type.isDynamicDim(axis))
      sizes.push_back(memref::DimOp::create(rewriter, loc, *buffer, axis));
  auto dense = MemRefType::get(type.getShape(), type.getElementType());
  Value copy = memref::AllocOp::create(rewriter, loc, dense, sizes);
  memref::CopyOp::create(rewriter, loc, *buffer, copy);
  return copy;
}

Value planHandle(RewriterBase &rewriter, Location loc, Value plan) {
  Type handle = rt::PlanType::get(rewriter.getContext());
  return UnrealizedConversionCastOp::create(rewriter, loc, handle, plan).getResult(0);
}

/// No tensor results, or none tied to an operand.
template <typename Model, typename OpT> struct Reader : BufferizableOpInterface::ExternalModel<Model, OpT> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return true; }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  AliasingValueList getAliasingValues(Operation *, OpOperand &, const AnalysisState &) const { return {}; }
};

struct ExchangePlanModel : Reader<ExchangePlanModel, moe::ExchangePlanOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto plan = cast<moe::ExchangePlanOp>(op);
    Location loc = op->getLoc();
    FailureOr<Value> experts = rowMajor(rewriter, loc, plan.getExperts(), options, state);
    if (failed(experts))
      return failure();
    Value handle = rt::PlanCreateOp::create(rewriter, loc, rt::PlanType::get(op->getContext()), *experts,
                                            plan.getExpertCount(), plan.getOp());
    Value cast = UnrealizedConversionCastOp::create(rewriter, loc, plan.getPlan().getType(), handle).getResult(0);
    rewriter.replaceOp(op, cast);
    return success();
  }
};

struct PlanGroupsModel : DstBufferizableOpInterfaceExternalModel<PlanGroupsModel, moe::PlanGroupsOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto groups = cast<moe::PlanGroupsOp>(op);
    FailureOr<Value> offsets = getBuffer(rewriter, groups.getInits()[0], options, state);
    FailureOr<Value> rows = getBuffer(rewriter, groups.getInits()[1], options, state);
    if (failed(offsets) || failed(rows))
      return failure();
    rt::PlanGroupsOp::create(rewriter, op->getLoc(), planHandle(rewriter, op->getLoc(), groups.getPlan()), *offsets,
                             *rows);
    replaceOpWithBufferizedValues(rewriter, op, {*offsets, *rows});
    return success();
  }
};

template <typename OpT> constexpr bool isPlanned = requires(OpT op) { op.getPlan(); };

/// Blocking exchanges and starts: operand `source` is read, `init` is written.
template <typename OpT, typename RtOp, bool isStart>
struct ExchangeModel : DstBufferizableOpInterfaceExternalModel<ExchangeModel<OpT, RtOp, isStart>, OpT> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return &operand == &cast<OpT>(op).getSourceMutable();
  }
  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return &operand == &cast<OpT>(op).getInitMutable();
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand, const AnalysisState &) const {
    if (&operand != &cast<OpT>(op).getInitMutable())
      return {};
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto exchange = cast<OpT>(op);
    Location loc = op->getLoc();
    FailureOr<Value> source = rowMajor(rewriter, loc, exchange.getSource(), options, state);
    FailureOr<Value> target = getBuffer(rewriter, exchange.getInit(), options, state);
    if (failed(source) || failed(target))
      return failure();
    if (!cast<MemRefType>(target->getType()).getLayout().isIdentity())
      return op->emitOpError("fills a tensor that is part of another");
    Type request = rt::RequestType::get(op->getContext());
    Value started;
    if constexpr (isPlanned<OpT>)
      started = RtOp::create(rewriter, loc, request, *source, planHandle(rewriter, loc, exchange.getPlan()), *target,
                             exchange.getOp());
    else
      started = RtOp::create(rewriter, loc, request, *source, *target, exchange.getOp());
    if constexpr (isStart) {
      Value future =
          UnrealizedConversionCastOp::create(rewriter, loc, exchange.getFuture().getType(), started).getResult(0);
      replaceOpWithBufferizedValues(rewriter, op, {*target, future});
    } else {
      rt::WaitOp::create(rewriter, loc, started, *target, ValueRange{*source});
      replaceOpWithBufferizedValues(rewriter, op, *target);
    }
    return success();
  }
};

struct WaitModel : BufferizableOpInterface::ExternalModel<WaitModel, moe::WaitOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return true; }
  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return &operand == &cast<moe::WaitOp>(op).getPendingMutable();
  }
  bool mustBufferizeInPlace(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return &operand == &cast<moe::WaitOp>(op).getPendingMutable();
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand, const AnalysisState &) const {
    if (&operand != &cast<moe::WaitOp>(op).getPendingMutable())
      return {};
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto wait = cast<moe::WaitOp>(op);
    Location loc = op->getLoc();
    FailureOr<Value> pending = getBuffer(rewriter, wait.getPending(), options, state);
    if (failed(pending))
      return failure();
    // What the exchange reads, a row-major copy included; the casts are those of the start's model.
    SmallVector<Value> keep;
    Type request = rt::RequestType::get(op->getContext());
    Value handle = UnrealizedConversionCastOp::create(rewriter, loc, request, wait.getFuture()).getResult(0);
    if (auto cast = wait.getFuture().getDefiningOp<UnrealizedConversionCastOp>())
      if (Operation *start = cast.getOperand(0).getDefiningOp())
        keep.push_back(start->getOperand(0));
    for (Value tensor : wait.getKeep()) {
      FailureOr<Value> buffer = getBuffer(rewriter, tensor, options, state);
      if (failed(buffer))
        return failure();
      if (!llvm::is_contained(keep, *buffer))
        keep.push_back(*buffer);
    }
    rt::WaitOp::create(rewriter, loc, handle, *pending, keep);
    replaceOpWithBufferizedValues(rewriter, op, *pending);
    return success();
  }
};

} // namespace

void farskip::registerMoeBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, moe::MoeDialect *) {
    using namespace moe;
    ExchangePlanOp::attachInterface<ExchangePlanModel>(*context);
    PlanGroupsOp::attachInterface<PlanGroupsModel>(*context);
    DispatchOp::attachInterface<ExchangeModel<DispatchOp, rt::DispatchStartOp, false>>(*context);
    CombineOp::attachInterface<ExchangeModel<CombineOp, rt::CombineStartOp, false>>(*context);
    AllReduceOp::attachInterface<ExchangeModel<AllReduceOp, rt::AllReduceStartOp, false>>(*context);
    DispatchStartOp::attachInterface<ExchangeModel<DispatchStartOp, rt::DispatchStartOp, true>>(*context);
    CombineStartOp::attachInterface<ExchangeModel<CombineStartOp, rt::CombineStartOp, true>>(*context);
    AllReduceStartOp::attachInterface<ExchangeModel<AllReduceStartOp, rt::AllReduceStartOp, true>>(*context);
    WaitOp::attachInterface<WaitModel>(*context);
  });
}
