// Pass outline-kernels.
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Lower/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "passes/Lower/Passes.h.inc"

namespace {

/// The order of loops in which the last parallel dimension is innermost, when every operand that uses it has it last;
/// empty when the order should stay.
SmallVector<unsigned> contiguousOrder(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  if (kinds.empty() || kinds.back() != utils::IteratorType::reduction)
    return {};
  int64_t last = -1;
  for (int64_t i = 0, e = kinds.size(); i < e; ++i)
    if (kinds[i] == utils::IteratorType::parallel)
      last = i;
  if (last < 0)
    return {};
  AffineExpr dim = getAffineDimExpr(last, op.getContext());
  for (AffineMap map : op.getIndexingMapsArray()) {
    bool used = llvm::any_of(map.getResults(), [&](AffineExpr expr) { return expr.isFunctionOfDim(last); });
    if (used && map.getResults().back() != dim)
      return {};
  }
  SmallVector<unsigned> order;
  for (int64_t i = 0, e = kinds.size(); i < e; ++i)
    if (i != last)
      order.push_back(i);
  order.push_back(last);
  return order;
}

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  llvm::StringMap<SymbolRefAttr> known;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    copiesToStructured(module);
    SmallVector<linalg::LinalgOp> ops;
    module.walk([&](linalg::LinalgOp op) {
      if (!op->getParentOfType<linalg::LinalgOp>())
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops)
      if (failed(outline(op)))
        return signalPassFailure();
    known.clear();
  }

  /// Copies are kernels like any other: strided ones too, and run in parallel.
  void copiesToStructured(ModuleOp module) {
    SmallVector<memref::CopyOp> copies;
    module.walk([&](memref::CopyOp op) { copies.push_back(op); });
    for (memref::CopyOp op : copies) {
      OpBuilder b(op);
      int64_t rank = cast<MemRefType>(op.getTarget().getType()).getRank();
      AffineMap identity = b.getMultiDimIdentityMap(rank);
      SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
      linalg::GenericOp::create(
          b, op.getLoc(), TypeRange{}, op.getSource(), op.getTarget(), ArrayRef{identity, identity}, iterators,
          [](OpBuilder &in, Location at, ValueRange x) { linalg::YieldOp::create(in, at, x[0]); });
      op.erase();
    }
  }

  LogicalResult outline(linalg::LinalgOp op) {
    IRRewriter rewriter(op);
    Location loc = op.getLoc();
    if (!op.hasPureBufferSemantics())
      return op.emitOpError("is not on buffers");
    SmallVector<unsigned> order = contiguousOrder(op);
    bool parallel = op.getNumLoops() > 0 && op.getIteratorTypesArray()[0] == utils::IteratorType::parallel;
    SmallVector<Value> captured(op->getOperands());
    llvm::SetVector<Value> above;
    for (Region &region : op->getRegions())
      getUsedValuesDefinedAbove(region, above);
    // Constants are cloned into the kernel, all else is passed.
    SmallVector<Operation *> constants;
    for (Value value : above) {
      Operation *source = value.getDefiningOp();
      if (source && source->hasTrait<OpTrait::ConstantLike>())
        constants.push_back(source);
      else if (!llvm::is_contained(captured, value))
        captured.push_back(value);
    }
    llvm::SetVector<Value> arguments(captured.begin(), captured.end());

    SmallVector<Type> types{rewriter.getIndexType(), rewriter.getIndexType()};
    for (Value argument : arguments)
      types.push_back(argument.getType());
    OwningOpRef<func::FuncOp> kernel =
        func::FuncOp::create(rewriter.getUnknownLoc(), "kernel", FunctionType::get(&getContext(), types, {}));
    Block *body = kernel->addEntryBlock();
    IRMapping mapping;
    for (auto [argument, inside] : llvm::zip(arguments, body->getArguments().drop_front(2)))
      mapping.map(argument, inside);
    IRRewriter inner(&getContext());
    inner.setInsertionPointToStart(body);
    for (Operation *constant : constants)
      inner.clone(*constant, mapping);
    auto clone = cast<linalg::LinalgOp>(inner.clone(*op, mapping));
    func::ReturnOp::create(inner, inner.getUnknownLoc());
    inner.setInsertionPoint(clone);
    if (!order.empty())
      if (auto generic = dyn_cast<linalg::GenericOp>(clone.getOperation())) {
        FailureOr<linalg::GenericOp> swapped = linalg::interchangeGenericOp(inner, generic, order);
        if (succeeded(swapped))
          clone = cast<linalg::LinalgOp>(swapped->getOperation());
      }
    inner.setInsertionPoint(clone);
    FailureOr<linalg::LinalgLoops> loops = linalg::linalgOpToLoops(inner, clone);
    if (failed(loops))
      return op.emitOpError("cannot be written as loops");
    if (parallel && !loops->empty()) {
      auto outer = cast<scf::ForOp>(loops->front());
      outer.setLowerBound(body->getArgument(0));
      outer.setUpperBound(body->getArgument(1));
    }
    inner.eraseOp(clone);
    kernel->walk([](Operation *inside) { inside->setLoc(UnknownLoc::get(inside->getContext())); });

    std::string key;
    llvm::raw_string_ostream os(key);
    kernel.get()->print(os, OpPrintingFlags().useLocalScope().printGenericOpForm());
    SymbolRefAttr &symbol = known[key];
    if (!symbol) {
      std::string name = "kernel_" + std::to_string(known.size() - 1);
      kernel->setSymName(name);
      kernel->setPrivate();
      getOperation().push_back(kernel.release());
      symbol = FlatSymbolRefAttr::get(&getContext(), name);
      ++kernels;
    }
    ++calls;
    // The extent of the outermost loop, from the first operand dimension that it indexes.
    Value count = arith::ConstantIndexOp::create(rewriter, loc, 1);
    if (parallel) {
      for (auto [operand, map] : llvm::zip(op->getOperands(), op.getIndexingMapsArray())) {
        std::optional<unsigned> position = map.getResultPosition(getAffineDimExpr(0, &getContext()));
        if (!position)
          continue;
        count = memref::DimOp::create(rewriter, loc, operand, *position);
        break;
      }
    }
    rt::ParallelForOp::create(rewriter, loc, cast<FlatSymbolRefAttr>(symbol), count,
                              arith::ConstantIndexOp::create(rewriter, loc, 1), arguments.getArrayRef());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace
} // namespace farskip
