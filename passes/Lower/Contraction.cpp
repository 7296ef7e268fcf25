// Which linalg operations are matrix products that the generated kernels compute.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Lower/Contraction.h"

using namespace farskip;
using namespace mlir;

/// The block argument that `value` is, perhaps widened.
static BlockArgument widened(Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  return dyn_cast<BlockArgument>(value);
}

std::optional<Contraction> Contraction::match(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 2 || generic.getNumDpsInits() != 1)
    return std::nullopt;
  SmallVector<utils::IteratorType> kinds = generic.getIteratorTypesArray();
  int64_t loops = kinds.size();
  if (loops < 3 || kinds.back() != utils::IteratorType::reduction ||
      !llvm::all_of(
          ArrayRef(kinds).drop_back(), [](utils::IteratorType kind) { return kind == utils::IteratorType::parallel; }))
    return std::nullopt;
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  Contraction found{generic, maps[0], maps[1], loops - 3, loops - 2, loops - 1};
  auto uses = [](AffineMap map, int64_t loop) { return map.isFunctionOfDim(loop); };
  if (maps[2] != AffineMap::getMultiDimIdentityMap(loops, op->getContext()).getMajorSubMap(loops - 1) ||
      !found.a.isProjectedPermutation() || !found.b.isProjectedPermutation() || !uses(found.a, found.k) ||
      !uses(found.b, found.k) || !uses(found.b, found.n) || uses(found.a, found.n) || uses(found.b, found.m))
    return std::nullopt;
  Block &body = generic.getRegion().front();
  auto chain = body.getTerminator()->getOperand(0).getDefiningOp<math::FmaOp>();
  if (!chain || !chain.getType().isF32() || chain.getC() != body.getArgument(2) ||
      widened(chain.getA()) != body.getArgument(0) || widened(chain.getB()) != body.getArgument(1))
    return std::nullopt;
  return found;
}
