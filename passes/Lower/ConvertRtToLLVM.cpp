// Pass convert-rt-to-llvm.
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "passes/Lower/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_CONVERTRTTOLLVMPASS
#include "passes/Lower/Passes.h.inc"

namespace {

struct ConvertRtToLLVMPass : impl::ConvertRtToLLVMPassBase<ConvertRtToLLVMPass> {
  LLVMTypeConverter *converter = nullptr;
  Type pointer, i64;
  int64_t messages = 0;
  llvm::StringMap<std::string> messageNames;
  llvm::StringMap<std::string> thunks, checkers;
  DenseMap<std::pair<Block *, Type>, Value> spaces;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    LLVMTypeConverter types(&getContext());
    converter = &types;
    pointer = LLVM::LLVMPointerType::get(&getContext());
    i64 = IntegerType::get(&getContext(), 64);
    messages = 0;
    messageNames.clear();
    thunks.clear();
    checkers.clear();
    spaces.clear();
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (!function.isExternal())
        threadContext(function);
    for (func::FuncOp function : functions) {
      if (function.isExternal())
        continue;
      SmallVector<Operation *> ops;
      function.walk([&](Operation *op) {
        if (isa_and_nonnull<rt::RtDialect>(op->getDialect()) || isa<memref::AllocOp, memref::DeallocOp>(op))
          ops.push_back(op);
      });
      for (Operation *op : ops)
        convert(op, function.getArgument(0));
    }
  }

  void threadContext(func::FuncOp function) {
    (void)function.insertArgument(0, pointer, {}, function.getLoc());
    function.walk([&](func::CallOp call) { call->insertOperands(0, function.getArgument(0)); });
  }

  LLVM::LLVMFuncOp declare(StringRef name, Type result, ArrayRef<Type> arguments) {
    if (auto known = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    return LLVM::LLVMFuncOp::create(builder, builder.getUnknownLoc(), name,
                                    LLVM::LLVMFunctionType::get(result, arguments));
  }

  Value call(OpBuilder &b, Location loc, StringRef name, Type result, ValueRange arguments) {
    Type type = result ? result : LLVM::LLVMVoidType::get(&getContext());
    auto callee = declare(name, type, SmallVector<Type>(arguments.getTypes()));
    auto op = LLVM::CallOp::create(b, loc, callee, arguments);
    return result ? op.getResult() : Value();
  }

  Value constant(OpBuilder &b, Location loc, int64_t number) {
    return LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(number));
  }

  /// Stack space for one value of `type`, at the entry of the function so that loops do not grow the stack. Its
  /// contents are for one call alone, so all calls of a function share it.
  Value space(Operation *op, Type type) {
    Block &entry = op->getParentOfType<func::FuncOp>().getBody().front();
    Value &known = spaces[{&entry, type}];
    if (!known) {
      OpBuilder b = OpBuilder::atBlockBegin(&entry);
      known = LLVM::AllocaOp::create(b, op->getLoc(), pointer, type, constant(b, op->getLoc(), 1));
    }
    return known;
  }

  Value cast(OpBuilder &b, Location loc, Value value, Type type) {
    return UnrealizedConversionCastOp::create(b, loc, type, value).getResult(0);
  }

  /// A row-major memref over the bytes at `base`; `dynamic` are its dynamic extents, as i64.
  Value describe(OpBuilder &b, Location loc, Value base, MemRefType type, ValueRange dynamic = {}) {
    Type structure = converter->convertType(type);
    Value d = LLVM::PoisonOp::create(b, loc, structure);
    auto put = [&](Value v, ArrayRef<int64_t> at) { d = LLVM::InsertValueOp::create(b, loc, d, v, at); };
    put(base, {0});
    put(base, {1});
    put(constant(b, loc, 0), {2});
    Value stride = constant(b, loc, 1);
    for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
      Value extent = dynamicOr(b, loc, type, axis, dynamic);
      put(extent, {3, axis});
      put(stride, {4, axis});
      stride = LLVM::MulOp::create(b, loc, stride, extent);
    }
    return cast(b, loc, d, type);
  }

  Value dynamicOr(OpBuilder &b, Location loc, MemRefType type, int64_t axis, ValueRange dynamic) {
    if (!type.isDynamicDim(axis))
      return constant(b, loc, type.getDimSize(axis));
    return dynamic[type.getDynamicDimIndex(axis)];
  }

  /// Memory whose size the data decides comes from the run-time, which ends the run when there is none.
  void convertAlloc(OpBuilder &b, memref::AllocOp op, Value context) {
    Location loc = op.getLoc();
    MemRefType type = op.getType();
    SmallVector<Value> dynamic;
    for (Value size : op.getDynamicSizes())
      dynamic.push_back(cast(b, loc, size, i64));
    Type element = type.getElementType();
    int64_t width = element.isIndex() ? 8 : std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
    Value bytes = constant(b, loc, width);
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      bytes = LLVM::MulOp::create(b, loc, bytes, dynamicOr(b, loc, type, axis, dynamic));
    Value base = call(b, loc, "farskip_rt_buffer_alloc", pointer, {context, bytes});
    op.replaceAllUsesWith(describe(b, loc, base, type, dynamic));
  }

  void convertDealloc(OpBuilder &b, memref::DeallocOp op, Value context) {
    Location loc = op.getLoc();
    Value d = cast(b, loc, op.getMemref(), converter->convertType(op.getMemref().getType()));
    Value base = LLVM::ExtractValueOp::create(b, loc, d, ArrayRef<int64_t>{0});
    call(b, loc, "farskip_rt_buffer_free", {}, {context, base});
  }

  std::string message(StringRef text) {
    std::string &name = messageNames[text];
    if (name.empty()) {
      name = "rt_message_" + std::to_string(messages++);
      OpBuilder b = OpBuilder::atBlockBegin(getOperation().getBody());
      std::string bytes = text.str();
      bytes.push_back('\0');
      LLVM::GlobalOp::create(b, b.getUnknownLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
                             /*isConstant=*/true, LLVM::Linkage::Internal, name, b.getStringAttr(bytes));
    }
    return name;
  }

  void convert(Operation *op, Value context) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    if (auto input = dyn_cast<rt::InputOp>(op)) {
      auto type = llvm::cast<MemRefType>(input.getBuffer().getType());
      Type structure = converter->convertType(type);
      Value at = space(op, structure);
      call(b, loc, "farskip_rt_input_get", {},
           {context, constant(b, loc, input.getIndex()), constant(b, loc, type.getRank()), at});
      input.replaceAllUsesWith(cast(b, loc, LLVM::LoadOp::create(b, loc, structure, at), type));
    } else if (auto output = dyn_cast<rt::OutputOp>(op)) {
      auto type = llvm::cast<MemRefType>(output.getBuffer().getType());
      Type structure = converter->convertType(type);
      Value at = space(op, structure);
      LLVM::StoreOp::create(b, loc, cast(b, loc, output.getBuffer(), structure), at);
      call(b, loc, "farskip_rt_output_set", {},
           {context, constant(b, loc, output.getIndex()), constant(b, loc, type.getRank()), at});
    } else if (auto weight = dyn_cast<rt::WeightOp>(op)) {
      Value base = call(b, loc, "farskip_rt_weight_get", pointer, {context, constant(b, loc, weight.getOffset())});
      weight.replaceAllUsesWith(describe(b, loc, base, llvm::cast<MemRefType>(weight.getBuffer().getType())));
    } else if (auto arena = dyn_cast<rt::ArenaOp>(op)) {
      auto type = llvm::cast<MemRefType>(arena.getBuffer().getType());
      Value bytes = cast(b, loc, arena.getBytes(), i64);
      Value base = call(b, loc, "farskip_rt_arena_get", pointer, {context, bytes});
      Value d = LLVM::PoisonOp::create(b, loc, converter->convertType(type));
      d = LLVM::InsertValueOp::create(b, loc, d, base, ArrayRef<int64_t>{0});
      d = LLVM::InsertValueOp::create(b, loc, d, base, ArrayRef<int64_t>{1});
      d = LLVM::InsertValueOp::create(b, loc, d, constant(b, loc, 0), ArrayRef<int64_t>{2});
      d = LLVM::InsertValueOp::create(b, loc, d, bytes, ArrayRef<int64_t>{3, 0});
      d = LLVM::InsertValueOp::create(b, loc, d, constant(b, loc, 1), ArrayRef<int64_t>{4, 0});
      arena.replaceAllUsesWith(cast(b, loc, d, type));
    } else if (auto rank = dyn_cast<rt::RankOp>(op)) {
      Value number = call(b, loc, "farskip_rt_rank_get", i64, {context});
      rank.replaceAllUsesWith(cast(b, loc, number, b.getIndexType()));
    } else if (auto check = dyn_cast<rt::CheckOp>(op)) {
      convertCheck(b, check, context);
    } else if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      convertAlloc(b, alloc, context);
    } else if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
      convertDealloc(b, dealloc, context);
    } else if (auto loop = dyn_cast<rt::ParallelForOp>(op)) {
      convertParallelFor(b, loop, context);
    } else {
      convertExchange(b, op, context);
    }
    op->erase();
  }

  /// The function that ends the run where a condition does not hold: branches are kept out of the long entry function,
  /// which every branch would cut in two.
  std::string checker(rt::CheckOp op) {
    size_t count = op.getValues().size();
    std::string &name = checkers[(op.getMessage() + Twine(count)).str()];
    if (!name.empty())
      return name;
    name = "check_" + std::to_string(checkers.size() - 1);
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    Location loc = b.getUnknownLoc();
    SmallVector<Type> types{pointer, b.getI1Type()};
    types.append(count, i64);
    auto function = func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
    function.setPrivate();
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    Value wrong =
        arith::XOrIOp::create(b, loc, body->getArgument(1), arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    Value values = LLVM::AllocaOp::create(b, loc, pointer, i64, constant(b, loc, std::max<int64_t>(1, count)));
    auto branch = scf::IfOp::create(b, loc, wrong, /*withElseRegion=*/false);
    func::ReturnOp::create(b, loc);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    for (size_t i = 0; i < count; ++i) {
      Value at = LLVM::GEPOp::create(b, loc, pointer, i64, values, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      LLVM::StoreOp::create(b, loc, body->getArgument(2 + i), at);
    }
    Value text = LLVM::AddressOfOp::create(b, loc, pointer, message(op.getMessage()));
    call(b, loc, "farskip_rt_run_fail", {}, {body->getArgument(0), text, values, constant(b, loc, count)});
    return name;
  }

  void convertCheck(OpBuilder &b, rt::CheckOp op, Value context) {
    SmallVector<Value> arguments{context, op.getCondition()};
    for (Value value : op.getValues())
      arguments.push_back(cast(b, op.getLoc(), value, i64));
    func::CallOp::create(b, op.getLoc(), checker(op), TypeRange{}, arguments);
  }

  /// The first element of a row-major memref.
  Value data(OpBuilder &b, Location loc, Value memref) {
    Value d = cast(b, loc, memref, converter->convertType(memref.getType()));
    Value base = LLVM::ExtractValueOp::create(b, loc, d, ArrayRef<int64_t>{1});
    Value offset = LLVM::ExtractValueOp::create(b, loc, d, ArrayRef<int64_t>{2});
    Type element = converter->convertType(llvm::cast<MemRefType>(memref.getType()).getElementType());
    return LLVM::GEPOp::create(b, loc, pointer, element, base, ArrayRef<LLVM::GEPArg>{offset});
  }

  Value extent(OpBuilder &b, Location loc, Value memref, int64_t axis) {
    Value d = cast(b, loc, memref, converter->convertType(memref.getType()));
    return LLVM::ExtractValueOp::create(b, loc, d, ArrayRef<int64_t>{3, axis});
  }

  /// Bytes of what lies behind one index of the leading `axes` axes.
  Value rowBytes(OpBuilder &b, Location loc, Value memref, int64_t axes) {
    auto type = llvm::cast<MemRefType>(memref.getType());
    Value bytes = constant(b, loc, std::max<int64_t>(1, type.getElementTypeBitWidth() / 8));
    for (int64_t axis = axes; axis < type.getRank(); ++axis)
      bytes = LLVM::MulOp::create(b, loc, bytes, extent(b, loc, memref, axis));
    return bytes;
  }

  /// The `dtype` argument of the C interface.
  int64_t dtype(Type element) {
    if (element.isF32())
      return 0;
    if (element.isF16())
      return 1;
    return element.isBF16() ? 2 : 3;
  }

  void convertExchange(OpBuilder &b, Operation *op, Value context) {
    Location loc = op->getLoc();
    auto handle = [&](Value value) { return cast(b, loc, value, pointer); };
    auto define = [&](Value result, Value lowered) {
      result.replaceAllUsesWith(cast(b, loc, lowered, result.getType()));
    };
    if (auto plan = dyn_cast<rt::PlanCreateOp>(op)) {
      Value experts = plan.getExperts();
      define(plan.getPlan(),
             call(b, loc, "farskip_rt_plan_create", pointer,
                  {context, constant(b, loc, plan.getOp()), data(b, loc, experts), extent(b, loc, experts, 0),
                   extent(b, loc, experts, 1), constant(b, loc, plan.getExpertCount())}));
    } else if (auto received = dyn_cast<rt::PlanReceivedOp>(op)) {
      define(received.getRows(), call(b, loc, "farskip_rt_plan_received", i64, {context, handle(received.getPlan())}));
    } else if (auto pairs = dyn_cast<rt::PlanPairsOp>(op)) {
      define(pairs.getPairs(), call(b, loc, "farskip_rt_plan_pairs", i64, {context, handle(pairs.getPlan())}));
    } else if (auto groups = dyn_cast<rt::PlanGroupsOp>(op)) {
      call(b, loc, "farskip_rt_plan_groups", {},
           {context, handle(groups.getPlan()), data(b, loc, groups.getOffsets()), data(b, loc, groups.getRows())});
    } else if (auto destroy = dyn_cast<rt::PlanDestroyOp>(op)) {
      call(b, loc, "farskip_rt_plan_destroy", {}, {context, handle(destroy.getPlan())});
    } else if (auto dispatch = dyn_cast<rt::DispatchStartOp>(op)) {
      define(dispatch.getRequest(), planned(b, dispatch, "farskip_rt_dispatch_start", context));
    } else if (auto combine = dyn_cast<rt::CombineStartOp>(op)) {
      define(combine.getRequest(), planned(b, combine, "farskip_rt_combine_start", context));
    } else if (auto reduce = dyn_cast<rt::AllReduceStartOp>(op)) {
      auto type = llvm::cast<MemRefType>(reduce.getSource().getType());
      Value count = constant(b, loc, 1);
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        count = LLVM::MulOp::create(b, loc, count, extent(b, loc, reduce.getSource(), axis));
      define(reduce.getRequest(),
             call(b, loc, "farskip_rt_all_reduce_start", pointer,
                  {context, constant(b, loc, reduce.getOp()), data(b, loc, reduce.getSource()),
                   data(b, loc, reduce.getTarget()), count, constant(b, loc, dtype(type.getElementType()))}));
    } else if (auto wait = dyn_cast<rt::WaitOp>(op)) {
      call(b, loc, "farskip_rt_request_wait", {}, {context, handle(wait.getRequest())});
    }
  }

  /// Rows of `source` by a plan.
  template <typename OpT> Value planned(OpBuilder &b, OpT op, StringRef name, Value context) {
    Location loc = op.getLoc();
    return call(b, loc, name, pointer,
                {context, constant(b, loc, op.getOp()), cast(b, loc, op.getPlan(), pointer),
                 data(b, loc, op.getSource()), rowBytes(b, loc, op.getSource(), 1), data(b, loc, op.getTarget())});
  }

  /// The function that the pool calls: unpacks the operands and calls the kernel.
  std::string thunk(rt::ParallelForOp op, Type structure) {
    std::string &name = thunks[op.getKernel()];
    if (!name.empty())
      return name;
    name = (op.getKernel() + "_block").str();
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    Location loc = b.getUnknownLoc();
    auto function = func::FuncOp::create(b, loc, name, b.getFunctionType({pointer, pointer, i64, i64}, {}));
    function.setPrivate();
    b.setInsertionPointToStart(function.addEntryBlock());
    SmallVector<Value> arguments{function.getArgument(0), cast(b, loc, function.getArgument(2), b.getIndexType()),
                                 cast(b, loc, function.getArgument(3), b.getIndexType())};
    if (!op.getArgs().empty()) {
      Value all = LLVM::LoadOp::create(b, loc, structure, function.getArgument(1));
      for (auto [i, argument] : llvm::enumerate(op.getArgs())) {
        Value part = LLVM::ExtractValueOp::create(b, loc, all, ArrayRef<int64_t>{static_cast<int64_t>(i)});
        arguments.push_back(part.getType() == argument.getType() ? part : cast(b, loc, part, argument.getType()));
      }
    }
    func::CallOp::create(b, loc, op.getKernel(), TypeRange{}, arguments);
    func::ReturnOp::create(b, loc);
    return name;
  }

  void convertParallelFor(OpBuilder &b, rt::ParallelForOp op, Value context) {
    Location loc = op.getLoc();
    SmallVector<Type> parts;
    for (Value argument : op.getArgs())
      parts.push_back(converter->convertType(argument.getType()));
    Type structure = LLVM::LLVMStructType::getLiteral(&getContext(), parts);
    std::string name = thunk(op, structure);
    Value at = space(op, structure);
    Value all = LLVM::PoisonOp::create(b, loc, structure);
    for (auto [i, argument] : llvm::enumerate(op.getArgs())) {
      Value part = argument.getType() == parts[i] ? Value(argument) : cast(b, loc, argument, parts[i]);
      all = LLVM::InsertValueOp::create(b, loc, all, part, ArrayRef<int64_t>{static_cast<int64_t>(i)});
    }
    if (!parts.empty())
      LLVM::StoreOp::create(b, loc, all, at);
    auto type = FunctionType::get(&getContext(), {pointer, pointer, i64, i64}, {});
    Value function = func::ConstantOp::create(b, loc, type, FlatSymbolRefAttr::get(&getContext(), name));
    call(b, loc, "farskip_rt_parallel_for", {},
         {context, constant(b, loc, 0), cast(b, loc, op.getCount(), i64), cast(b, loc, op.getGrain(), i64),
          cast(b, loc, function, pointer), at});
  }
};

} // namespace
} // namespace farskip
