// Pass outline-kernels.
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
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

/// Elements that a thread should have at least: fewer take less time than waking it.
constexpr int64_t kWork = 8192;

struct OutlineKernelsPass : impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  llvm::StringMap<FlatSymbolRefAttr> known;

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
    if (auto entry = module.lookupSymbol<func::FuncOp>(kEntryName)) {
      SmallVector<Operation *> nests;
      for (Operation &op : entry.getBody().front())
        if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
          nests.push_back(&op);
      for (Operation *op : nests)
        outlineNest(op);
    }
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

  /// What a function that does what `op` does must be given; constants are cloned into it instead.
  static llvm::SetVector<Value> capture(Operation *op, SmallVectorImpl<Operation *> &constants) {
    llvm::SetVector<Value> above, arguments;
    above.insert_range(op->getOperands());
    for (Region &region : op->getRegions())
      getUsedValuesDefinedAbove(region, above);
    for (Value value : above) {
      Operation *source = value.getDefiningOp();
      if (source && source->hasTrait<OpTrait::ConstantLike>())
        constants.push_back(source);
      else
        arguments.insert(value);
    }
    return arguments;
  }

  /// Adds the function, or finds the one that is equal to it.
  FlatSymbolRefAttr share(OwningOpRef<func::FuncOp> function, StringRef prefix) {
    function->walk([](Operation *inside) { inside->setLoc(UnknownLoc::get(inside->getContext())); });
    std::string key = prefix.str();
    llvm::raw_string_ostream os(key);
    function.get()->print(os, OpPrintingFlags().useLocalScope().printGenericOpForm());
    FlatSymbolRefAttr &symbol = known[key];
    if (!symbol) {
      std::string name = (prefix + Twine(known.size() - 1)).str();
      function->setSymName(name);
      function->setPrivate();
      getOperation().push_back(function.release());
      symbol = FlatSymbolRefAttr::get(&getContext(), name);
      ++kernels;
    }
    return symbol;
  }

  /// Polynomials in place of calls of the C library, which are scalar.
  void useApproximations(func::FuncOp function) {
    bool any = false;
    auto wanted = [](StringRef name) {
      return name == "math.exp" || name == "math.tanh" || name == "math.erf" || name == "math.log";
    };
    function.walk(
        [&](Operation *op) { any |= wanted(op->getName().getStringRef()) && op->getResult(0).getType().isF32(); });
    if (!any)
      return;
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, wanted);
    (void)applyPatternsGreedily(function, std::move(patterns));
  }

  /// Moves loops and branches out of the entry function, which stays one block: equal ones are shared, and the passes
  /// of LLVM work on small functions.
  void outlineNest(Operation *op) {
    auto isPlain = [](Type type) { return type.isIntOrIndexOrFloat(); };
    SmallVector<Operation *> constants;
    llvm::SetVector<Value> arguments = capture(op, constants);
    SmallVector<Type> types;
    for (Value argument : arguments)
      types.push_back(argument.getType());
    if (!llvm::all_of(op->getResultTypes(), isPlain) ||
        !llvm::all_of(types, [&](Type type) { return isPlain(type) || isa<MemRefType>(type); }))
      return;
    OpBuilder b(op);
    OwningOpRef<func::FuncOp> function =
        func::FuncOp::create(b.getUnknownLoc(), "nest", FunctionType::get(&getContext(), types, op->getResultTypes()));
    Block *body = function->addEntryBlock();
    IRMapping mapping;
    for (auto [argument, inside] : llvm::zip(arguments, body->getArguments()))
      mapping.map(argument, inside);
    OpBuilder inner = OpBuilder::atBlockBegin(body);
    for (Operation *constant : constants)
      inner.clone(*constant, mapping);
    Operation *clone = inner.clone(*op, mapping);
    func::ReturnOp::create(inner, inner.getUnknownLoc(), clone->getResults());
    FlatSymbolRefAttr symbol = share(std::move(function), "nest_");
    auto call = func::CallOp::create(b, op->getLoc(), symbol, TypeRange(op->getResultTypes()), arguments.getArrayRef());
    op->replaceAllUsesWith(call.getResults());
    op->erase();
    ++outlinedNests;
  }

  /// The extent of a loop, from the first operand dimension that it indexes.
  static Value extent(OpBuilder &b, linalg::LinalgOp op, int64_t loop) {
    for (auto [operand, map] : llvm::zip(op->getOperands(), op.getIndexingMapsArray()))
      if (std::optional<unsigned> position = map.getResultPosition(getAffineDimExpr(loop, b.getContext())))
        return memref::DimOp::create(b, op.getLoc(), operand, *position);
    return arith::ConstantIndexOp::create(b, op.getLoc(), 1);
  }

  /// Iterations of the outermost loop that are worth a thread of their own.
  static Value fewest(OpBuilder &b, linalg::LinalgOp op) {
    Location loc = op.getLoc();
    Value one = arith::ConstantIndexOp::create(b, loc, 1), each = one;
    for (int64_t loop = 1; loop < op.getNumLoops(); ++loop)
      each = arith::MulIOp::create(b, loc, each, extent(b, op, loop));
    Value work = arith::ConstantIndexOp::create(b, loc, kWork);
    Value some = arith::DivUIOp::create(b, loc, work, arith::MaxUIOp::create(b, loc, each, one));
    return arith::MaxUIOp::create(b, loc, some, one);
  }

  LogicalResult outline(linalg::LinalgOp op) {
    IRRewriter rewriter(op);
    Location loc = op.getLoc();
    if (!op.hasPureBufferSemantics())
      return op.emitOpError("is not on buffers");
    SmallVector<unsigned> order = contiguousOrder(op);
    bool parallel = op.getNumLoops() > 0 && op.getIteratorTypesArray()[0] == utils::IteratorType::parallel;
    SmallVector<Operation *> constants;
    llvm::SetVector<Value> arguments = capture(op, constants);

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
    useApproximations(*kernel);
    FlatSymbolRefAttr symbol = share(std::move(kernel), "kernel_");
    ++calls;
    Value count = arith::ConstantIndexOp::create(rewriter, loc, 1), grain = count;
    if (parallel) {
      count = extent(rewriter, op, 0);
      grain = fewest(rewriter, op);
    }
    rt::ParallelForOp::create(rewriter, loc, symbol, count, grain, arguments.getArrayRef());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace
} // namespace farskip
