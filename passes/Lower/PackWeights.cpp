// Pass pack-weights.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/OnnxOps.h"
#include "passes/Lower/Contraction.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "passes/Lower/Passes.h.inc"

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// A matrix that is a weight, or one of the matrices of a weight.
struct Source {
  Value weight;
  bool transposed = false;
  OpFoldResult index; ///< of the matrix, where the weight has several
};

/// The permutation of a transposition, or of an operation that only permutes.
std::optional<SmallVector<int64_t>> permutation(Operation *op) {
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
    return SmallVector<int64_t>(transpose.getPermutation());
  return std::nullopt;
}

/// Whether `op` gives each element of its input, widened or as it is, at the same place.
bool onlyWidens(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() ||
      !llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Value result = op.getRegion().front().getTerminator()->getOperand(0);
  if (auto extend = result.getDefiningOp<arith::ExtFOp>())
    result = extend.getIn();
  return result == op.getRegion().front().getArgument(0);
}

bool isWeight(Operation *op) {
  if (auto stack = dyn_cast<moe::StackOp>(op))
    return llvm::all_of(stack.getParts(), [](Value part) { return part.getDefiningOp<onnx::WeightOp>() != nullptr; });
  return isa<onnx::WeightOp>(op);
}

/// Follows a matrix [K, N] back to the weight whose elements it has.
std::optional<Source> findSource(Value matrix) {
  Source source;
  Value value = matrix;
  auto wanted = [&] {
    SmallVector<int64_t> shape(typeOf(matrix).getShape());
    if (source.transposed)
      std::swap(shape[0], shape[1]);
    return shape;
  };
  while (Operation *op = value.getDefiningOp()) {
    auto matches = [&](Value next) {
      // Axes of extent 1 may come and go before the two of the matrix.
      ArrayRef<int64_t> shape = typeOf(next).getShape();
      return shape.size() >= 2 && shape.take_back(2) == ArrayRef(wanted());
    };
    int64_t rank = typeOf(value).getRank();
    if (isWeight(op)) {
      if (!typeOf(value).hasStaticShape() || rank > 3 || !matches(value) ||
          (!source.index && rank == 3 && typeOf(value).getDimSize(0) != 1))
        return std::nullopt;
      source.weight = value;
      if (!source.index && rank == 3)
        source.index = OpBuilder(op->getContext()).getIndexAttr(0);
      return source;
    }
    if (auto cast = dyn_cast<tensor::CastOp>(op)) {
      value = cast.getSource();
    } else if (auto order = permutation(op)) {
      ArrayRef<int64_t> all(*order);
      for (int64_t axis = 0; axis < rank - 2; ++axis)
        if (all[axis] != axis)
          return std::nullopt;
      if (all[rank - 2] != rank - 2)
        source.transposed = !source.transposed;
      value = op->getOperand(0);
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op); generic && onlyWidens(generic)) {
      value = generic.getInputs()[0];
    } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
      value = op->getOperand(0);
      if (!matches(value) || typeOf(value).getNumElements() != typeOf(op->getResult(0)).getNumElements())
        return std::nullopt;
    } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      value = slice.getSource();
      if (source.index || typeOf(value).getRank() != 3 || !matches(value) ||
          getConstantIntValue(slice.getMixedSizes()[0]) != 1 || !slice.hasUnitStride())
        return std::nullopt;
      for (int64_t axis : {1, 2})
        if (getConstantIntValue(slice.getMixedOffsets()[axis]) != 0)
          return std::nullopt;
      source.index = slice.getMixedOffsets()[0];
    } else {
      return std::nullopt;
    }
    if (!typeOf(value).hasStaticShape())
      return std::nullopt;
  }
  return std::nullopt;
}

bool isZeroFilled(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  if (!fill)
    return false;
  Attribute value;
  if (!matchPattern(fill.getInputs()[0], m_Constant(&value)))
    return false;
  auto number = dyn_cast<FloatAttr>(value);
  return number && number.getValue().isPosZero();
}

struct PackWeightsPass : impl::PackWeightsPassBase<PackWeightsPass> {
  using PackWeightsPassBase::PackWeightsPassBase;
  DenseMap<std::pair<Value, int64_t>, Value> packed;

  void runOnOperation() override {
    packed.clear();
    SmallVector<Contraction> found;
    getOperation().walk([&](linalg::GenericOp op) {
      if (auto contraction = Contraction::match(op))
        found.push_back(*contraction);
    });
    for (Contraction &contraction : found)
      rewrite(contraction);
  }

  void rewrite(Contraction &contraction) {
    linalg::GenericOp op = contraction.op;
    Value x = op.getInputs()[0], w = op.getInputs()[1], init = op.getDpsInits()[0];
    MLIRContext *context = &getContext();
    AffineExpr m, n, k;
    bindDims(context, m, n, k);
    if (op.getNumLoops() != 3 || contraction.a != AffineMap::get(3, 0, {m, k}, context) || !isZeroFilled(init) ||
        !typeOf(w).hasStaticShape() || typeOf(w).getDimSize(0) == 0)
      return;
    bool transposed = contraction.b == AffineMap::get(3, 0, {n, k}, context);
    std::optional<Source> source = findSource(w);
    if (!source)
      return;
    source->transposed ^= transposed;
    OpBuilder b(op);
    Location loc = op.getLoc();
    int64_t columns = typeOf(w).getDimSize(transposed ? 0 : 1);
    if (columns < 2)
      return;
    Value panels = pack(*source, std::min<int64_t>(width, llvm::alignTo(columns, lanes)));
    if (source->index) {
      RankedTensorType all = typeOf(panels);
      auto part = RankedTensorType::get(all.getShape().drop_front(), all.getElementType());
      SmallVector<OpFoldResult> offsets(4, b.getIndexAttr(0)), strides(4, b.getIndexAttr(1)), sizes;
      offsets[0] = source->index;
      for (int64_t extent : all.getShape())
        sizes.push_back(b.getIndexAttr(extent));
      sizes[0] = b.getIndexAttr(1);
      panels = tensor::ExtractSliceOp::create(b, loc, part, panels, offsets, sizes, strides);
    }
    Value out = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, init), b.getF32Type());
    if (out.getType() != init.getType())
      out = tensor::CastOp::create(b, loc, init.getType(), out);
    auto product = moe::ProductOp::create(b, loc, init.getType(), inF32(b, loc, x), panels, out);
    op.getResult(0).replaceAllUsesWith(product.getResult());
    op.erase();
    ++products;
  }

  Value pack(const Source &source, int64_t block) {
    Value &known = packed[{source.weight, source.transposed ? -block : block}];
    if (known)
      return known;
    OpBuilder b(&getContext());
    b.setInsertionPointAfterValue(source.weight);
    RankedTensorType type = typeOf(source.weight);
    SmallVector<int64_t> shape(type.getShape().drop_back(2));
    int64_t k = type.getShape().end()[-2], n = type.getShape().end()[-1];
    if (source.transposed)
      std::swap(k, n);
    shape.append({static_cast<int64_t>(llvm::divideCeil(n, block)), k, block});
    known = moe::PackOp::create(b, source.weight.getLoc(), RankedTensorType::get(shape, type.getElementType()),
                                source.weight, source.transposed);
    ++weights;
    return known;
  }

  Value inF32(OpBuilder &b, Location loc, Value x) {
    Type f32 = b.getF32Type();
    if (typeOf(x).getElementType() == f32)
      return x;
    Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, x), f32);
    AffineMap identity = b.getMultiDimIdentityMap(2);
    SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
    return linalg::GenericOp::create(b, loc, init.getType(), x, init, ArrayRef{identity, identity}, iterators,
                                     [&](OpBuilder &in, Location at, ValueRange v) {
                                       linalg::YieldOp::create(in, at,
                                                               arith::ExtFOp::create(in, at, f32, v[0]).getResult());
                                     })
        .getResult(0);
  }
};

} // namespace
} // namespace farskip
