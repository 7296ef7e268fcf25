// The kernels that compute matrix products on the CPU: tiles of rows times panels of columns, each element one chain of
// FMAs over k.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Lower/ProductKernel.h"
#include "passes/Lower/KernelBuilder.h"

using namespace mlir;

namespace farskip {

namespace {

/// Rows of the largest tile: with four vectors each, 24 of the 32 registers of AVX-512 hold sums; with two, 12 of the
/// 16 of AVX2.
constexpr int64_t kTile = 6;
/// Tiles of one task: their rows of x stay in the second cache level while a panel passes.
constexpr int64_t kTiles = 16;
/// A block of k: a panel of that height stays in the second cache level while the tiles pass over it.
constexpr int64_t kDepth = 1024;
/// Bytes of a panel that are asked for ahead of their use.
constexpr int64_t kAhead = 8192;
/// Multiplications that are worth a thread of their own.
constexpr int64_t kWork = 256 * 1024;

/// The extents of a product.
struct Extents {
  SmallVector<Value> batch; ///< extents of the batch loops
  Value rows, columns, depth;
  Value panels, tiles, chunks, tasks;

  Extents(KernelBuilder &b, const ProductShape &shape, Value x, Value w, Value out) {
    int64_t loops = shape.xMap.getNumDims();
    for (int64_t i = 0; i < loops - 3; ++i)
      batch.push_back(b.dim(out, i));
    rows = b.dim(out, loops - 3);
    columns = b.dim(out, loops - 2);
    AffineExpr k = getAffineDimExpr(loops - 1, shape.xMap.getContext());
    depth = b.dim(x, *shape.xMap.getResultPosition(k));
    panels = b.ceilDiv(columns, shape.columns);
    tiles = b.ceilDiv(rows, kTile);
    chunks = b.ceilDiv(tiles, kTiles);
    tasks = b.mul(panels, chunks);
    for (Value extent : batch)
      tasks = b.mul(tasks, extent);
  }
};

struct Kernel : KernelBuilder {
  Kernel(OpBuilder &builder, const ProductShape &shape, Block &body)
      : KernelBuilder(builder), shape(shape), x(body.getArgument(2)), w(body.getArgument(3)), out(body.getArgument(4)),
        extents(*this, shape, x, w, out) {
    lanes = VectorType::get({shape.lanes}, b.getF32Type());
    vectors = shape.columns / shape.lanes;
    zero = index(0), one = index(1);
    if (!shape.packed)
      panel = scratch(index(kDepth), {shape.columns}, b.getF32Type());
  }

  void build(Value begin, Value end) {
    loop(begin, end, 1, [&](Value task) {
      Value rest = task;
      auto split = [&](Value extent) {
        Value part = rem(rest, extent);
        rest = div(rest, extent);
        return part;
      };
      Value chunk = split(extents.chunks);
      panelIndex = split(extents.panels);
      batch.assign(extents.batch.size(), Value());
      for (int64_t i = batch.size(); i-- > 0;)
        batch[i] = split(extents.batch[i]);
      firstColumn = mul(panelIndex, index(shape.columns));
      Value firstTile = mul(chunk, index(kTiles)), endTile = min(add(firstTile, index(kTiles)), extents.tiles);
      // With nothing to sum up there still is a result.
      loop(zero, max(extents.depth, one), kDepth, [&](Value k) {
        firstDepth = k;
        endDepth = min(add(k, index(kDepth)), extents.depth);
        columnMasks = masks(sub(extents.columns, firstColumn));
        Value started = shape.accumulate ? extents.columns : select(equal(k, zero), zero, extents.columns);
        startMasks = masks(sub(min(started, extents.columns), firstColumn));
        if (!shape.packed)
          pack();
        loop(firstTile, endTile, 1, [&](Value tile) { anyTile(tile); });
      });
    });
  }

private:
  /// For each vector of a panel, which of its columns are among the first `count`.
  SmallVector<Value> masks(Value count) {
    SmallVector<Value> result;
    auto type = VectorType::get({shape.lanes}, b.getI1Type());
    for (int64_t v = 0; v < vectors; ++v)
      result.push_back(vector::CreateMaskOp::create(b, loc, type, sub(count, index(v * shape.lanes))));
    return result;
  }

  SmallVector<Value> at(AffineMap map, Value row, Value column, Value k) {
    SmallVector<Value> loops(batch), position;
    loops.append({row, column, k});
    for (AffineExpr expr : map.getResults())
      position.push_back(loops[cast<AffineDimExpr>(expr).getPosition()]);
    return position;
  }

  /// Copies the block of k of one panel. What is behind the last column stays as it was; no result reads it.
  void pack() {
    Value count = min(sub(extents.columns, firstColumn), index(shape.columns));
    loop(firstDepth, endDepth, 1, [&](Value k) {
      loop(zero, count, 1, [&](Value column) {
        Value element = load(w, at(shape.wMap, Value(), add(firstColumn, column), k));
        store(convert(element, b.getF32Type()), panel, {sub(k, firstDepth), column});
      });
    });
  }

  /// The rows are cut into tiles that differ by one row at most.
  void anyTile(Value tile) {
    Value first = div(mul(tile, extents.rows), extents.tiles);
    Value next = div(mul(add(tile, one), extents.rows), extents.tiles);
    SmallVector<int64_t> cases;
    for (int64_t rows = 2; rows <= kTile; ++rows)
      cases.push_back(rows);
    auto choice = scf::IndexSwitchOp::create(b, loc, TypeRange{}, sub(next, first), cases, cases.size());
    auto fill = [&](Region &region, int64_t rows) {
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(&region);
      microKernel(first, rows);
      scf::YieldOp::create(b, loc);
    };
    fill(choice.getDefaultRegion(), 1);
    for (auto [region, rows] : llvm::zip(choice.getCaseRegions(), cases))
      fill(region, rows);
  }

  Value panelVector(Value k, int64_t v) {
    Value column = index(v * shape.lanes);
    if (!shape.packed)
      return load(lanes, panel, {sub(k, firstDepth), column});
    VectorType stored = lanes.clone(shape.w.getElementType());
    return convert(load(stored, w, {panelIndex, k, column}), b.getF32Type());
  }

  void prefetch(Value k) {
    int64_t bytes = shape.columns * shape.w.getElementTypeBitWidth() / 8;
    Value ahead = add(k, index(kAhead / bytes));
    for (int64_t line = 0; line < bytes; line += 64)
      memref::PrefetchOp::create(b, loc, w, ValueRange{panelIndex, ahead, index(line * shape.columns / bytes)},
                                 /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
  }

  void microKernel(Value first, int64_t rows) {
    SmallVector<Value> sums;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        sums.push_back(
            vector::MaskedLoadOp::create(b, loc, lanes, out, outAt(first, row, v), startMasks[v], real(lanes, 0)));
    sums = loop(firstDepth, endDepth, 1, sums, [&](Value k, ValueRange sum) {
      SmallVector<Value> next(sum), factors;
      if (shape.packed)
        prefetch(k);
      for (int64_t v = 0; v < vectors; ++v)
        factors.push_back(panelVector(k, v));
      for (int64_t row = 0; row < rows; ++row) {
        Value element = load(x, at(shape.xMap, add(first, index(row)), Value(), k));
        Value factor = broadcast(lanes, convert(element, b.getF32Type()));
        for (int64_t v = 0; v < vectors; ++v)
          next[row * vectors + v] = fma(factor, factors[v], sum[row * vectors + v]);
      }
      return next;
    });
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        vector::MaskedStoreOp::create(b, loc, out, outAt(first, row, v), columnMasks[v], sums[row * vectors + v]);
  }

  SmallVector<Value> outAt(Value first, int64_t row, int64_t v) {
    return at(shape.outMap, add(first, index(row)), add(firstColumn, index(v * shape.lanes)), Value());
  }

  const ProductShape &shape;
  Value x, w, out;
  Extents extents;
  VectorType lanes;
  int64_t vectors;
  Value zero, one, panel;
  // The task, and its block of k.
  SmallVector<Value> batch;
  Value panelIndex, firstColumn, firstDepth, endDepth;
  SmallVector<Value> columnMasks, startMasks;
};

} // namespace

OwningOpRef<func::FuncOp> buildProductKernel(MLIRContext *context, const ProductShape &shape) {
  OpBuilder builder(context);
  Type index = builder.getIndexType();
  OwningOpRef<func::FuncOp> kernel = func::FuncOp::create(
      builder.getUnknownLoc(), "product", builder.getFunctionType({index, index, shape.x, shape.w, shape.out}, {}));
  kernel->setPrivate();
  Block *body = kernel->addEntryBlock();
  builder.setInsertionPointToStart(body);
  Kernel(builder, shape, *body).build(body->getArgument(0), body->getArgument(1));
  func::ReturnOp::create(builder, builder.getUnknownLoc());
  return kernel;
}

std::pair<Value, Value> productTasks(OpBuilder &builder, const ProductShape &shape, Value x, Value w, Value out) {
  KernelBuilder kernel(builder);
  Extents extents(kernel, shape, x, w, out);
  Value one = kernel.index(1);
  Value each = kernel.mul(kernel.mul(kernel.max(extents.depth, one), kernel.index(shape.columns)),
                          kernel.max(kernel.min(extents.rows, kernel.index(kTile * kTiles)), one));
  return {extents.tasks, kernel.max(kernel.div(kernel.index(kWork), each), one)};
}

} // namespace farskip
