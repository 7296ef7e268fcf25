// Pass lower-products.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Lower/ProductKernel.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_LOWERPRODUCTSPASS
#include "passes/Lower/Passes.h.inc"

namespace {

/// The type with all extents and strides but those of `fixed` trailing axes unknown, so that kernels are shared; the
/// innermost stride stays when it is one.
MemRefType generalised(MemRefType type, int64_t fixed) {
  int64_t rank = type.getRank();
  auto [strides, offset] = type.getStridesAndOffset();
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic), general(rank, ShapedType::kDynamic);
  for (int64_t axis = rank - fixed; axis < rank; ++axis)
    shape[axis] = type.getDimSize(axis);
  for (int64_t axis = std::max<int64_t>(0, rank - fixed - 1); axis < rank; ++axis)
    if (axis == rank - 1 ? strides[axis] == 1 : fixed > 0)
      general[axis] = strides[axis];
  return MemRefType::get(shape, type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, general));
}

bool isContiguousInside(Value buffer) {
  auto [strides, offset] = cast<MemRefType>(buffer.getType()).getStridesAndOffset();
  return !strides.empty() && strides.back() == 1;
}

struct LowerProductsPass : impl::LowerProductsPassBase<LowerProductsPass> {
  using LowerProductsPassBase::LowerProductsPassBase;
  llvm::StringMap<FlatSymbolRefAttr> known;

  void runOnOperation() override {
    known.clear();
    SmallVector<moe::ProductOp> products;
    SmallVector<Contraction> contractions;
    getOperation().walk([&](Operation *op) {
      if (auto product = dyn_cast<moe::ProductOp>(op))
        products.push_back(product);
      else if (auto contraction = Contraction::match(op))
        contractions.push_back(*contraction);
    });
    for (moe::ProductOp product : products)
      if (failed(lowerPacked(product)))
        return signalPassFailure();
    for (Contraction &contraction : contractions)
      lowerPlain(contraction);
  }

  LogicalResult lowerPacked(moe::ProductOp op) {
    if (op.getResult())
      return op.emitOpError("is not on buffers");
    if (!isContiguousInside(op.getOut()))
      return op.emitOpError("writes rows that are not contiguous");
    MLIRContext *context = &getContext();
    AffineExpr m, n, k;
    bindDims(context, m, n, k);
    ProductShape shape;
    shape.columns = cast<MemRefType>(op.getW().getType()).getShape().back();
    shape.lanes = std::gcd<int64_t>(lanes.getValue(), shape.columns);
    shape.xMap = AffineMap::get(3, 0, {m, k}, context);
    shape.outMap = AffineMap::get(3, 0, {m, n}, context);
    shape.w = generalised(cast<MemRefType>(op.getW().getType()), 1);
    call(op, shape, op.getX(), op.getW(), op.getOut());
    return success();
  }

  /// Products of activations: attention that was not recognised, experts in a form that was not recognised.
  void lowerPlain(Contraction &contraction) {
    linalg::GenericOp op = contraction.op;
    Value x = op.getInputs()[0], w = op.getInputs()[1], out = op.getDpsInits()[0];
    auto type = dyn_cast<MemRefType>(out.getType());
    if (!type || !isContiguousInside(out))
      return;
    // One row alone has no use for a packed panel.
    if (type.getDimSize(contraction.m) == 1)
      return;
    ProductShape shape;
    shape.lanes = lanes;
    shape.columns = width;
    if (!type.isDynamicDim(contraction.n))
      shape.columns = std::min<int64_t>(width, llvm::alignTo(type.getDimSize(contraction.n), lanes));
    shape.xMap = contraction.a;
    shape.wMap = contraction.b;
    shape.outMap = op.getIndexingMapsArray()[2];
    shape.w = generalised(cast<MemRefType>(w.getType()), 0);
    shape.packed = false;
    shape.accumulate = true;
    call(op, shape, x, w, out);
  }

  void call(Operation *op, ProductShape &shape, Value x, Value w, Value out) {
    shape.x = generalised(cast<MemRefType>(x.getType()), 0);
    shape.out = generalised(cast<MemRefType>(out.getType()), 0);
    std::string key;
    llvm::raw_string_ostream os(key);
    os << shape.packed << shape.columns << shape.xMap << shape.wMap << shape.outMap << shape.x << shape.w << shape.out;
    FlatSymbolRefAttr &kernel = known[key];
    if (!kernel) {
      OwningOpRef<func::FuncOp> function = buildProductKernel(&getContext(), shape);
      function->setSymName("product_" + std::to_string(known.size() - 1));
      kernel = FlatSymbolRefAttr::get(function->getSymNameAttr());
      getOperation().push_back(function.release());
      ++kernels;
    }
    OpBuilder b(op);
    Location loc = op->getLoc();
    auto [tasks, grain] = productTasks(b, shape, x, w, out);
    auto general = [&](Value buffer, MemRefType type) -> Value {
      return buffer.getType() == type ? buffer : memref::CastOp::create(b, loc, type, buffer).getResult();
    };
    SmallVector<Value> arguments{general(x, shape.x), general(w, shape.w), general(out, shape.out)};
    rt::ParallelForOp::create(b, loc, kernel, tasks, grain, arguments);
    op->erase();
    ++calls;
  }
};

} // namespace
} // namespace farskip
