// Pass lower-expand-shape.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Lower/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_LOWEREXPANDSHAPEPASS
#include "passes/Lower/Passes.h.inc"

namespace {

struct LowerExpandShapePass : impl::LowerExpandShapePassBase<LowerExpandShapePass> {
  void runOnOperation() override {
    SmallVector<memref::ExpandShapeOp> ops;
    getOperation()->walk([&](memref::ExpandShapeOp op) { ops.push_back(op); });
    for (memref::ExpandShapeOp op : ops)
      lower(op);
  }

  void lower(memref::ExpandShapeOp op) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    MemRefType type = op.getResultType();
    auto [staticStrides, staticOffset] = type.getStridesAndOffset();
    auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, op.getSrc());
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape(), strides(type.getRank(), b.getIndexAttr(1));
    auto asValue = [&](OpFoldResult x) -> Value { return getValueOrCreateConstantIndexOp(b, loc, x); };
    for (auto [group, source] : llvm::zip(op.getReassociationIndices(), metadata.getStrides())) {
      Value stride = source;
      for (int64_t axis : llvm::reverse(group)) {
        strides[axis] =
            ShapedType::isDynamic(staticStrides[axis]) ? OpFoldResult(stride) : b.getIndexAttr(staticStrides[axis]);
        stride = arith::MulIOp::create(b, loc, stride, asValue(sizes[axis]));
      }
    }
    OpFoldResult offset =
        ShapedType::isDynamic(staticOffset) ? OpFoldResult(metadata.getOffset()) : b.getIndexAttr(staticOffset);
    op.replaceAllUsesWith(
        memref::ReinterpretCastOp::create(b, loc, type, metadata.getBaseBuffer(), offset, sizes, strides).getResult());
    op.erase();
  }
};

} // namespace
} // namespace farskip
