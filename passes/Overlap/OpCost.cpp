// How long an operation takes, estimated.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Overlap/OpCost.h"
#include "dialects/Moe/MoeOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace farskip;
using namespace mlir;

static double bytesPerElement(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 8 : std::max(1.0, element.getIntOrFloatBitWidth() / 8.0);
}

/// [B, S, …] is one sequence of all tokens; [B, S, S] has two axes of them.
static double elements(ArrayRef<int64_t> shape, int64_t tokens) {
  double product = 1;
  bool several = llvm::count_if(shape, ShapedType::isDynamic) > 1;
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(extent))
      product *= static_cast<double>(extent);
    else if (axis > 0 || !several)
      product *= static_cast<double>(tokens);
  }
  return product;
}

static double size(Type type, int64_t tokens) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() ? elements(shaped.getShape(), tokens) * bytesPerElement(type) : 0;
}

static double loopSeconds(const CostModel &model, linalg::LinalgOp op) {
  double operations = 0, moved = 0;
  for (Operation &inner : op.getBlock()->without_terminator())
    operations += inner.hasTrait<OpTrait::ConstantLike>() ? 0 : 1;
  double points = elements(op.getStaticLoopRanges(), model.tokens);
  for (Value operand : op->getOperands())
    moved += size(operand.getType(), model.tokens);
  return std::max(operations * points / model.flops, moved / model.memoryBytes);
}

double CostModel::seconds(Operation *op) const {
  if (auto loop = dyn_cast<linalg::LinalgOp>(op))
    return loopSeconds(*this, loop);
  if (auto attention = dyn_cast<moe::AttentionOp>(op)) {
    Type q = attention.getQ().getType();
    return 4 * size(q, tokens) / bytesPerElement(q) * static_cast<double>(tokens) / flops;
  }
  if (isa<moe::ExchangePlanOp>(op))
    return latency;
  if (isa<tensor::InsertSliceOp, tensor::ExtractSliceOp, tensor::EmptyOp>(op))
    return 0;
  double total = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        total += seconds(&inner);
  return total;
}

double CostModel::transfer(Operation *op) const {
  if (!isa<moe::DispatchOp, moe::DispatchStartOp, moe::CombineOp, moe::CombineStartOp, moe::AllReduceOp,
           moe::AllReduceStartOp>(op))
    return 0;
  double others = ranks > 1 ? static_cast<double>(ranks - 1) / static_cast<double>(ranks) : 0;
  double bytes = size(op->getOperand(0).getType(), tokens) * others;
  return latency + bytes / linkBytes;
}
