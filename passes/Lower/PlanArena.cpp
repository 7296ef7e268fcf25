// Pass plan-arena.
// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Lower/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_PLANARENAPASS
#include "passes/Lower/Passes.h.inc"

namespace {

struct Buffer {
  memref::AllocOp alloc;
  int64_t start, end; ///< positions of the allocation and of the last use in the block
  Value bytes;
  std::pair<const void *, int64_t> sizeClass; ///< equal for buffers that are surely equally large
  int64_t slot = -1;
};

struct Slot {
  int64_t busyUntil;
  std::pair<const void *, int64_t> sizeClass;
  SmallVector<Value> sizes;
};

int64_t elementBytes(Type type) { return type.isIndex() ? 8 : std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8); }

struct PlanArenaPass : impl::PlanArenaPassBase<PlanArenaPass> {
  DenseMap<Operation *, int64_t> positions;
  DenseMap<Value, bool> knownAtStart;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return;
    Block &body = function.getBody().front();
    positions.clear();
    knownAtStart.clear();
    int64_t position = 0;
    for (Operation &op : body)
      positions[&op] = position++;
    BufferViewFlowAnalysis views(function);
    SmallVector<Buffer> placed;
    SmallVector<memref::AllocOp> others;
    function.walk([&](memref::AllocOp alloc) {
      bool top = alloc->getBlock() == &body;
      if (top && llvm::all_of(alloc.getDynamicSizes(), [&](Value size) { return isKnownAtStart(size, body); }))
        placed.push_back({alloc, positions[alloc], lastUse(views, alloc, body), {}, {}});
      else
        others.push_back(alloc);
    });
    for (memref::AllocOp alloc : others)
      freeAfterLastUse(views, alloc);
    place(body, placed);
  }

  /// Computed from constants and the extents of the program's inputs alone.
  bool isKnownAtStart(Value value, Block &body) {
    auto [at, inserted] = knownAtStart.try_emplace(value, false);
    if (!inserted)
      return at->second;
    Operation *op = value.getDefiningOp();
    bool known = op && op->getBlock() == &body && (isPure(op) || isa<memref::DimOp>(op)) && op->getNumRegions() == 0 &&
                 llvm::all_of(op->getOperands(), [&](Value operand) { return isKnownAtStart(operand, body); });
    return knownAtStart[value] = known;
  }

  int64_t lastUse(BufferViewFlowAnalysis &views, memref::AllocOp alloc, Block &body) {
    int64_t last = positions[alloc];
    for (Value alias : views.resolve(alloc))
      for (Operation *user : alias.getUsers())
        if (Operation *ancestor = body.findAncestorOpInBlock(*user))
          last = std::max(last, positions[ancestor]);
    return last;
  }

  void freeAfterLastUse(BufferViewFlowAnalysis &views, memref::AllocOp alloc) {
    Block *block = alloc->getBlock();
    Operation *last = alloc;
    for (Value alias : views.resolve(alloc))
      for (Operation *user : alias.getUsers()) {
        Operation *ancestor = block->findAncestorOpInBlock(*user);
        // Used beyond its block: it lives on in a loop's result, which nobody here may free.
        if (!ancestor || ancestor->hasTrait<OpTrait::IsTerminator>())
          return;
        if (last->isBeforeInBlock(ancestor))
          last = ancestor;
      }
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(last);
    memref::DeallocOp::create(builder, alloc.getLoc(), alloc);
    ++dynamic;
  }

  /// Moves what computes `value` before `point`.
  void hoist(Value value, Operation *point) {
    Operation *op = value.getDefiningOp();
    if (!op || positions[op] < positions[point])
      return;
    for (Value operand : op->getOperands())
      hoist(operand, point);
    op->moveBefore(point);
    positions[op] = positions[point] - 1;
  }

  void place(Block &body, MutableArrayRef<Buffer> buffers) {
    if (buffers.empty())
      return;
    Operation *point = &body.front();
    for (Operation &op : body)
      if (!isa<rt::InputOp, rt::WeightOp, arith::ConstantOp, memref::DimOp>(op)) {
        point = &op;
        break;
      }
    OpBuilder b(&getContext());
    Location loc = getOperation().getLoc();
    // A marker of its own: any operation, the first one included, may have to move before it.
    b.setInsertionPoint(point);
    Operation *marker = arith::ConstantIndexOp::create(b, loc, 0);
    positions[marker] = positions[point];
    point = marker;
    for (Buffer &buffer : buffers)
      for (Value size : buffer.alloc.getDynamicSizes())
        hoist(size, point);
    b.setInsertionPoint(point);
    auto index = [&](int64_t number) -> Value { return arith::ConstantIndexOp::create(b, loc, number); };
    SmallVector<Slot> slots;
    for (Buffer &buffer : buffers) {
      MemRefType type = buffer.alloc.getType();
      int64_t bytes = elementBytes(type.getElementType());
      for (int64_t extent : type.getShape())
        bytes *= ShapedType::isDynamic(extent) ? 1 : extent;
      buffer.bytes = index(bytes);
      for (Value size : buffer.alloc.getDynamicSizes())
        buffer.bytes = arith::MulIOp::create(b, loc, buffer.bytes, size);
      buffer.sizeClass = {nullptr, bytes};
      if (buffer.alloc.getDynamicSizes().size() == 1)
        buffer.sizeClass.first = buffer.alloc.getDynamicSizes()[0].getAsOpaquePointer();
      else if (!buffer.alloc.getDynamicSizes().empty())
        buffer.sizeClass = {buffer.bytes.getAsOpaquePointer(), 0};
      int64_t best = -1;
      for (auto [i, slot] : llvm::enumerate(slots)) {
        if (slot.busyUntil >= buffer.start)
          continue;
        best = i;
        if (slot.sizeClass == buffer.sizeClass)
          break;
      }
      if (best < 0) {
        best = slots.size();
        slots.push_back({0, buffer.sizeClass, {}});
      }
      slots[best].busyUntil = buffer.end;
      if (slots[best].sizes.empty() || slots[best].sizeClass != buffer.sizeClass)
        slots[best].sizes.push_back(buffer.bytes);
      buffer.slot = best;
      ++placed;
    }
    this->slots += slots.size();
    SmallVector<Value> offsets;
    Value end = index(0), line = index(64), slack = index(63);
    for (Slot &slot : slots) {
      offsets.push_back(end);
      Value size = slot.sizes.front();
      for (Value other : ArrayRef(slot.sizes).drop_front())
        size = arith::MaxSIOp::create(b, loc, size, other);
      Value lines = arith::DivSIOp::create(b, loc, arith::AddIOp::create(b, loc, size, slack), line);
      end = arith::AddIOp::create(b, loc, end, arith::MulIOp::create(b, loc, lines, line));
    }
    auto arenaType = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
    Value arena = rt::ArenaOp::create(b, loc, arenaType, end);
    for (Buffer &buffer : buffers) {
      b.setInsertionPoint(buffer.alloc);
      Value view = memref::ViewOp::create(b, buffer.alloc.getLoc(), buffer.alloc.getType(), arena, offsets[buffer.slot],
                                          buffer.alloc.getDynamicSizes());
      buffer.alloc.replaceAllUsesWith(view);
      buffer.alloc.erase();
    }
  }
};

} // namespace
} // namespace farskip
