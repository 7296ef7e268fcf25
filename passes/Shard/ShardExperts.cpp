// Pass shard-experts.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Rt/RtOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Shard/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_SHARDEXPERTSPASS
#include "passes/Shard/Passes.h.inc"

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Writes one block with exchanges, a loop over the experts, and a weighted sum.
class BlockSharder {
public:
  BlockSharder(moe::ExpertsOp op, int64_t ranks, bool replicated, function_ref<int64_t(StringRef)> collective)
      : op(op), ranks(ranks), replicated(replicated && ranks > 1), collective(collective), b(op), loc(op.getLoc()) {}

  Value run() {
    experts = expertNumbers();
    int64_t count = op.expertCount();
    if (replicated)
      experts = ownExperts();
    plan = moe::ExchangePlanOp::create(b, loc, moe::PlanType::get(b.getContext()), experts,
                                       static_cast<uint64_t>(count), static_cast<uint64_t>(collective("plan")));
    auto sizes = moe::PlanSizesOp::create(b, loc, TypeRange{b.getIndexType(), b.getIndexType()}, plan);
    received = sizes.getReceived();
    pairs = sizes.getPairs();
    Value offsets = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{count + 1}, b.getI64Type());
    Value rows = empty({ShapedType::kDynamic}, b.getI64Type(), pairs);
    auto groups = moe::PlanGroupsOp::create(b, loc, TypeRange{offsets.getType(), rows.getType()}, plan,
                                            ValueRange{offsets, rows});
    Value here = op.getX();
    if (ranks > 1) {
      Value init = empty({ShapedType::kDynamic, typeOf(here).getDimSize(1)}, typeOf(here).getElementType(), received);
      here = moe::DispatchOp::create(b, loc, init.getType(), here, plan, init,
                                     static_cast<uint64_t>(collective("dispatch")));
    }
    Value computed = loop(gathered(here, groups.getRows()), groups.getOffsets());
    RankedTensorType result = typeOf(op.getY());
    SmallVector<OpFoldResult> slotSizes{tensor::getMixedSize(b, loc, op.getX(), 0), b.getIndexAttr(op.slotCount()),
                                        b.getIndexAttr(result.getDimSize(1))};
    Value init = tensor::EmptyOp::create(b, loc, slotSizes, result.getElementType());
    Value slots = moe::CombineOp::create(b, loc, init.getType(), computed, plan, init,
                                         static_cast<uint64_t>(collective("combine")));
    Value sum = weighted(slots);
    if (replicated) {
      Value all = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, sum), b.getF32Type());
      sum = moe::AllReduceOp::create(b, loc, all.getType(), sum, all, static_cast<uint64_t>(collective("all_reduce")));
    }
    return rounded(sum);
  }

private:
  Value index(int64_t number) { return arith::ConstantIndexOp::create(b, loc, number); }

  Value empty(ArrayRef<int64_t> shape, Type element, Value size) {
    return tensor::EmptyOp::create(b, loc, shape, element, size);
  }

  /// The experts' numbers as i32.
  Value expertNumbers() {
    RankedTensorType type = typeOf(op.getExperts());
    Type element = type.getElementType(), i32 = b.getI32Type();
    if (element == i32)
      return op.getExperts();
    Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, op.getExperts()), i32);
    bool narrow = element.getIntOrFloatBitWidth() < 32;
    return elementwise(op.getExperts(), init, [&](OpBuilder &in, Location at, ValueRange x) -> Value {
      if (narrow)
        return arith::ExtSIOp::create(in, at, i32, x[0]);
      // A number that no i32 holds is no expert: the plan refuses it.
      Value least = arith::ConstantIntOp::create(in, at, element, -2);
      Value most = arith::ConstantIntOp::create(in, at, element, std::numeric_limits<int32_t>::max());
      Value held = arith::MaxSIOp::create(in, at, least, arith::MinSIOp::create(in, at, x[0], most));
      return arith::TruncIOp::create(in, at, i32, held);
    });
  }

  /// The experts that this rank owns; the others' slots are unused here. All ranks hold the same tokens, so the sum of
  /// what each makes of its own experts is the block's result.
  Value ownExperts() {
    int64_t count = op.expertCount(), each = count / ranks, more = count % ranks;
    Value rank = rt::RankOp::create(b, loc, b.getIndexType());
    Value first = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, rank, index(each)),
                                        arith::MinSIOp::create(b, loc, rank, index(more)));
    Value larger = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, rank, index(more));
    Value length = arith::SelectOp::create(b, loc, larger, index(each + 1), index(each));
    Value end = arith::AddIOp::create(b, loc, first, length);
    Type i32 = b.getI32Type();
    first = arith::IndexCastOp::create(b, loc, i32, first);
    end = arith::IndexCastOp::create(b, loc, i32, end);
    Value total = arith::ConstantIntOp::create(b, loc, i32, count);
    Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, experts), i32);
    return elementwise(experts, init, [&](OpBuilder &in, Location at, ValueRange x) -> Value {
      using arith::CmpIPredicate;
      Value before = arith::CmpIOp::create(in, at, CmpIPredicate::slt, x[0], first);
      Value behind = arith::CmpIOp::create(in, at, CmpIPredicate::sge, x[0], end);
      Value valid = arith::CmpIOp::create(in, at, CmpIPredicate::ult, x[0], total);
      // What is no expert at all stays as it is, for the plan to refuse.
      Value others = arith::AndIOp::create(in, at, arith::OrIOp::create(in, at, before, behind), valid);
      Value none = arith::ConstantIntOp::create(in, at, i32, -1);
      return arith::SelectOp::create(in, at, others, none, x[0]);
    });
  }

  using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;
  Value elementwise(Value input, Value init, Body body) {
    int64_t rank = typeOf(init).getRank();
    AffineMap identity = b.getMultiDimIdentityMap(rank);
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               b, loc, init.getType(), input, init, ArrayRef{identity, identity}, iterators,
               [&](OpBuilder &in, Location at, ValueRange x) { linalg::YieldOp::create(in, at, body(in, at, x)); })
        .getResult(0);
  }

  /// Row i of the result is row rows[i] of `source`.
  Value gathered(Value source, Value rows) {
    int64_t width = typeOf(source).getDimSize(1);
    Value init = empty({ShapedType::kDynamic, width}, typeOf(source).getElementType(), pairs);
    AffineMap first = AffineMap::get(2, 0, b.getAffineDimExpr(0)), identity = b.getMultiDimIdentityMap(2);
    SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
    return linalg::GenericOp::create(b, loc, init.getType(), rows, init, ArrayRef{first, identity}, iterators,
                                     [&](OpBuilder &in, Location at, ValueRange x) {
                                       Value row = arith::IndexCastOp::create(in, at, in.getIndexType(), x[0]);
                                       Value column = linalg::IndexOp::create(in, at, 1);
                                       linalg::YieldOp::create(
                                           in, at,
                                           Value(tensor::ExtractOp::create(in, at, source, ValueRange{row, column})));
                                     })
        .getResult(0);
  }

  /// The region on each expert's group of rows.
  Value loop(Value grouped, Value offsets) {
    RankedTensorType result = typeOf(op.getY());
    Value init = empty({ShapedType::kDynamic, result.getDimSize(1)}, result.getElementType(), pairs);
    auto bound = [&](OpBuilder &in, Value expert) -> Value {
      Value at = tensor::ExtractOp::create(in, loc, offsets, expert);
      return arith::IndexCastOp::create(in, loc, in.getIndexType(), at);
    };
    auto loop = scf::ForOp::create(
        b, loc, index(0), index(op.expertCount()), index(1), init,
        [&](OpBuilder &in, Location at, Value expert, ValueRange carried) {
          Value first = bound(in, expert);
          Value next = arith::AddIOp::create(in, at, expert, arith::ConstantIndexOp::create(in, at, 1));
          Value count = arith::SubIOp::create(in, at, bound(in, next), first);
          Block &body = op.getBody().front();
          IRMapping mapping;
          mapping.map(body.getArgument(0), slice(in, grouped, first, count));
          for (auto [param, argument] : llvm::zip(op.getParams(), body.getArguments().drop_front()))
            mapping.map(argument, slice(in, param, expert, Value()));
          for (Operation &inner : body.without_terminator())
            in.clone(inner, mapping);
          Value rows = mapping.lookupOrDefault(cast<moe::YieldOp>(body.getTerminator()).getRows());
          SmallVector<OpFoldResult> starts{first, in.getIndexAttr(0)},
              sizes{count, in.getIndexAttr(result.getDimSize(1))}, steps(2, in.getIndexAttr(1));
          Value filled = tensor::InsertSliceOp::create(in, at, rows, carried[0], starts, sizes, steps);
          scf::YieldOp::create(in, at, filled);
        });
    return loop.getResult(0);
  }

  /// `count` slices along the leading axis from `first` on; null counts one and drops the axis.
  Value slice(OpBuilder &in, Value tensor, Value first, Value count) {
    RankedTensorType type = typeOf(tensor);
    int64_t rank = type.getRank();
    SmallVector<OpFoldResult> starts(rank, in.getIndexAttr(0)), steps(rank, in.getIndexAttr(1)), sizes;
    starts[0] = first;
    for (int64_t extent : type.getShape())
      sizes.push_back(in.getIndexAttr(extent));
    sizes[0] = count ? OpFoldResult(count) : OpFoldResult(in.getIndexAttr(1));
    SmallVector<int64_t> shape(type.getShape());
    if (count)
      shape[0] = ShapedType::kDynamic;
    else
      shape.erase(shape.begin());
    auto part = RankedTensorType::get(shape, type.getElementType());
    return tensor::ExtractSliceOp::create(in, loc, part, tensor, starts, sizes, steps);
  }

  /// y[t, d] = Σ_j w[t, j] · slots[t, j, d], in f32 and in the order of j; an unused slot adds nothing.
  Value weighted(Value slots) {
    RankedTensorType result = typeOf(op.getY());
    Type f32 = b.getF32Type();
    SmallVector<OpFoldResult> sizes{tensor::getMixedSize(b, loc, op.getX(), 0), b.getIndexAttr(result.getDimSize(1))};
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    Value init = linalg::FillOp::create(b, loc, zero, Value(tensor::EmptyOp::create(b, loc, sizes, f32))).getResult(0);
    MLIRContext *context = b.getContext();
    AffineExpr t, d, j;
    bindDims(context, t, d, j);
    SmallVector<AffineMap> maps{AffineMap::get(3, 0, {t, j}, context), AffineMap::get(3, 0, {t, j}, context),
                                AffineMap::get(3, 0, {t, j, d}, context), AffineMap::get(3, 0, {t, d}, context)};
    using utils::IteratorType;
    Value sum = linalg::GenericOp::create(
                    b, loc, init.getType(), ValueRange{op.getWeights(), experts, slots}, init, maps,
                    ArrayRef{IteratorType::parallel, IteratorType::parallel, IteratorType::reduction},
                    [&](OpBuilder &in, Location at, ValueRange x) {
                      Value none = arith::ConstantOp::create(in, at, in.getZeroAttr(x[1].getType()));
                      Value used = arith::CmpIOp::create(in, at, arith::CmpIPredicate::sge, x[1], none);
                      Value product = arith::MulFOp::create(in, at, real(in, x[0], f32), real(in, x[2], f32));
                      Value added = arith::AddFOp::create(in, at, x[3], product);
                      linalg::YieldOp::create(in, at, Value(arith::SelectOp::create(in, at, used, added, x[3])));
                    })
                    .getResult(0);
    return sum;
  }

  Value rounded(Value sum) {
    Type element = typeOf(op.getY()).getElementType();
    if (element == b.getF32Type())
      return sum;
    Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, sum), element);
    return elementwise(sum, init, [&](OpBuilder &in, Location, ValueRange x) { return real(in, x[0], element); });
  }

  Value real(OpBuilder &in, Value x, Type type) {
    unsigned from = x.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
    if (x.getType() == type)
      return x;
    if (from < to)
      return arith::ExtFOp::create(in, loc, type, x);
    return arith::TruncFOp::create(in, loc, type, x);
  }

  moe::ExpertsOp op;
  int64_t ranks;
  bool replicated;
  function_ref<int64_t(StringRef)> collective;
  OpBuilder b;
  Location loc;
  Value experts, plan, received, pairs;
};

struct ShardExpertsPass : impl::ShardExpertsPassBase<ShardExpertsPass> {
  using ShardExpertsPassBase::ShardExpertsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder b(&getContext());
    SmallVector<Attribute> table;
    bool replicated = module->hasAttr(kReplicatedAttr);
    SmallVector<moe::ExpertsOp> ops;
    module.walk([&](moe::ExpertsOp op) { ops.push_back(op); });
    for (moe::ExpertsOp op : ops) {
      StringAttr node = op->getAttrOfType<StringAttr>("onnx.node");
      auto collective = [&](StringRef kind) -> int64_t {
        table.push_back(b.getDictionaryAttr({b.getNamedAttr("kind", b.getStringAttr(kind)),
                                             b.getNamedAttr("name", node ? node : b.getStringAttr(""))}));
        return table.size() - 1;
      };
      Value y = BlockSharder(op, ranks, replicated, collective).run();
      op.replaceAllUsesWith(y);
      op.erase();
      ++blocks;
    }
    if (!table.empty())
      module->setAttr(kCollectivesAttr, b.getArrayAttr(table));
  }
};

} // namespace
} // namespace farskip
