// The model operations of the moe dialect stay; what is inside them is lowered.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "passes/Raise/OnnxLowering.h"

using namespace farskip;
using namespace mlir;

static LogicalResult lowerExperts(moe::ExpertsOp op, OnnxLowering &to) {
  SmallVector<Value> params;
  for (Value param : op.getParams())
    params.push_back(to.value(param));
  auto lowered = moe::ExpertsOp::create(to.builder, to.loc(), to.type(op.getY()), to.value(op.getX()),
                                        to.value(op.getWeights()), to.value(op.getExperts()), params);
  lowered->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Block &from = op.getBody().front(), &body = lowered.getBody().emplaceBlock();
  if (failed(to.lowerBlock(from, body)))
    return failure();
  OpBuilder::InsertionGuard guard(to.builder);
  to.builder.setInsertionPointToEnd(&body);
  Value rows = cast<moe::YieldOp>(from.getTerminator()).getRows();
  moe::YieldOp::create(to.builder, to.loc(), to.value(rows));
  to.set(op.getY(), lowered.getY());
  return success();
}

/// Constants are stacked here, weights when the program's file of weights is laid out; anything else is copied.
static LogicalResult lowerStack(moe::StackOp op, OnnxLowering &to) {
  RankedTensorType type = to.type(op.getStacked());
  SmallVector<Value> parts;
  for (Value part : op.getParts())
    parts.push_back(to.value(part));
  SmallVector<Attribute> elements;
  for (Value part : parts) {
    DenseElementsAttr constant;
    if (!matchPattern(part, m_Constant(&constant)))
      break;
    llvm::append_range(elements, constant.getValues<Attribute>());
  }
  if (static_cast<int64_t>(elements.size()) == type.getNumElements() && !elements.empty()) {
    to.set(op.getStacked(), arith::ConstantOp::create(to.builder, to.loc(), DenseElementsAttr::get(type, elements)));
    return success();
  }
  if (llvm::all_of(parts, [](Value part) { return part.getDefiningOp<onnx::WeightOp>() != nullptr; })) {
    to.set(op.getStacked(), moe::StackOp::create(to.builder, to.loc(), type, parts));
    return success();
  }
  Value stacked = to.empty(op.getStacked());
  int64_t rank = type.getRank();
  SmallVector<OpFoldResult> offsets(rank, to.builder.getIndexAttr(0)), strides(rank, to.builder.getIndexAttr(1)),
      sizes = to.sizes(op.getStacked());
  sizes[0] = to.builder.getIndexAttr(1);
  for (auto [i, part] : llvm::enumerate(parts)) {
    offsets[0] = to.builder.getIndexAttr(i);
    stacked = tensor::InsertSliceOp::create(to.builder, to.loc(), part, stacked, offsets, sizes, strides);
  }
  to.set(op.getStacked(), stacked);
  return success();
}

void farskip::populateMoeLowerings(OnnxLoweringRegistry &registry) {
  registry.add(lowerExperts);
  registry.add(lowerStack);
}
