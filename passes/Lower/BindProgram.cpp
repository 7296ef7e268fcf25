// Pass bind-program.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "dialects/Onnx/OnnxOps.h"
#include "passes/Lower/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_BINDPROGRAMPASS
#include "passes/Lower/Passes.h.inc"

namespace {

MemRefType bufferOf(RankedTensorType type) { return MemRefType::get(type.getShape(), type.getElementType()); }

struct BindProgramPass : impl::BindProgramPassBase<BindProgramPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main) {
      getOperation().emitError("no function @main to bind");
      return signalPassFailure();
    }
    bindInputs(main);
    bindWeights(main);
    bindOutputs(main);
    main.setFunctionType(FunctionType::get(&getContext(), {}, {}));
    main.setArgAttrsAttr(nullptr);
    main.setResAttrsAttr(nullptr);
    main.setSymName(kEntryName);
    main.setPublic();
  }

  void bindInputs(func::FuncOp main) {
    Block &body = main.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (BlockArgument argument : body.getArguments()) {
      auto type = cast<RankedTensorType>(argument.getType());
      Value buffer = rt::InputOp::create(builder, argument.getLoc(), bufferOf(type),
                                         builder.getI64IntegerAttr(argument.getArgNumber()));
      Value tensor = bufferization::ToTensorOp::create(builder, argument.getLoc(), type, buffer, /*restrict=*/true);
      argument.replaceAllUsesWith(tensor);
    }
    body.eraseArguments(0, body.getNumArguments());
  }

  /// The places of weights in the program's file: those of one list side by side.
  class WeightTable {
  public:
    /// The place of the first of `parts`, and whether the list is new.
    std::pair<int64_t, bool> place(ArrayRef<onnx::WeightOp> parts, moe::PackOp pack) {
      std::vector<int64_t> key;
      SmallVector<WeightEntry> added;
      for (onnx::WeightOp part : parts) {
        WeightEntry entry{static_cast<int64_t>(part.getFile()), static_cast<int64_t>(part.getOffset()),
                          static_cast<int64_t>(part.getLength()), 0, static_cast<int64_t>(part.getLength())};
        if (pack)
          describePacking(pack, entry);
        for (int64_t number : {entry.file, entry.offset, entry.length, entry.block, entry.transposed})
          key.push_back(number);
        added.push_back(entry);
      }
      auto [at, inserted] = places.try_emplace(key, end);
      if (!inserted)
        return {at->second, false};
      for (WeightEntry &entry : added) {
        entry.place = end;
        end += entry.bytes;
      }
      end = llvm::alignTo(end, 64);
      rows.append(added);
      return {at->second, true};
    }
    SmallVector<WeightEntry> rows;

  private:
    static void describePacking(moe::PackOp pack, WeightEntry &entry) {
      auto packed = cast<RankedTensorType>(pack.getPacked().getType());
      entry.itemBytes = packed.getElementTypeBitWidth() / 8;
      entry.rows = pack.rows();
      entry.columns = pack.columns();
      entry.block = packed.getShape().back();
      entry.transposed = pack.getTransposed();
      int64_t matrix = entry.rows * entry.columns * entry.itemBytes;
      int64_t panels = llvm::divideCeil(entry.columns, entry.block);
      entry.bytes = matrix ? entry.length / matrix * panels * entry.rows * entry.block * entry.itemBytes : 0;
    }

    std::map<std::vector<int64_t>, int64_t> places;
    int64_t end = kWeightsHeader;
  };

  void bindWeights(func::FuncOp main) {
    SmallVector<Operation *> packs, stacks, ops;
    main.walk([&](Operation *op) {
      if (isa<moe::PackOp>(op))
        packs.push_back(op);
      else if (isa<moe::StackOp>(op))
        stacks.push_back(op);
      else if (isa<onnx::WeightOp>(op))
        ops.push_back(op);
    });
    WeightTable table;
    llvm::SmallPtrSet<Operation *, 16> gone;
    for (Operation *op : llvm::concat<Operation *>(packs, stacks, ops)) {
      if (gone.contains(op))
        continue;
      SmallVector<onnx::WeightOp> parts;
      if (!collectParts(op, parts)) {
        op->emitOpError("holds what is no weight of the model");
        return signalPassFailure();
      }
      SmallVector<Operation *> sources{parts.begin(), parts.end()};
      if (auto pack = dyn_cast<moe::PackOp>(op))
        sources.insert(sources.begin(), pack.getWeight().getDefiningOp());
      bindWeight(op, parts, table);
      for (Operation *source : sources)
        if (source != op && !gone.contains(source) && source->use_empty()) {
          gone.insert(source);
          source->erase();
        }
    }
    WeightEntry::setTable(getOperation(), table.rows);
  }

  /// The weights of the model that `op` is made of, in order.
  static bool collectParts(Operation *op, SmallVectorImpl<onnx::WeightOp> &parts) {
    if (!op)
      return false;
    if (auto weight = dyn_cast<onnx::WeightOp>(op)) {
      parts.push_back(weight);
      return true;
    }
    return isa<moe::PackOp, moe::StackOp>(op) &&
           llvm::all_of(op->getOperands(), [&](Value part) { return collectParts(part.getDefiningOp(), parts); });
  }

  void bindWeight(Operation *op, ArrayRef<onnx::WeightOp> parts, WeightTable &table) {
    auto [place, fresh] = table.place(parts, dyn_cast<moe::PackOp>(op));
    if (!fresh)
      ++shared;
    ++weights;
    OpBuilder builder(op);
    Value tensor = op->getResult(0);
    auto type = cast<RankedTensorType>(tensor.getType());
    Value buffer = rt::WeightOp::create(builder, op->getLoc(), bufferOf(type), builder.getI64IntegerAttr(place));
    tensor.replaceAllUsesWith(
        bufferization::ToTensorOp::create(builder, op->getLoc(), type, buffer, /*restrict=*/true).getResult());
    op->erase();
  }

  void bindOutputs(func::FuncOp main) {
    Operation *terminator = main.getBody().front().getTerminator();
    OpBuilder builder(terminator);
    for (auto [index, result] : llvm::enumerate(terminator->getOperands())) {
      auto type = cast<RankedTensorType>(result.getType());
      Value buffer = bufferization::ToBufferOp::create(builder, terminator->getLoc(), bufferOf(type), result,
                                                       /*read_only=*/true);
      rt::OutputOp::create(builder, terminator->getLoc(), index, buffer);
    }
    func::ReturnOp::create(builder, terminator->getLoc());
    terminator->erase();
  }
};

} // namespace

static constexpr int64_t kEntryNumbers = 10;

std::vector<WeightEntry> WeightEntry::table(ModuleOp module) {
  std::vector<WeightEntry> entries;
  auto numbers = module->getAttrOfType<DenseI64ArrayAttr>(kWeightsAttr);
  for (int64_t i = 0; numbers && i + kEntryNumbers <= numbers.size(); i += kEntryNumbers) {
    ArrayRef<int64_t> n = numbers.asArrayRef().slice(i, kEntryNumbers);
    entries.push_back({n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9]});
  }
  return entries;
}

void WeightEntry::setTable(ModuleOp module, ArrayRef<WeightEntry> entries) {
  SmallVector<int64_t> numbers;
  for (const WeightEntry &e : entries)
    numbers.append(
        {e.file, e.offset, e.length, e.place, e.bytes, e.itemBytes, e.rows, e.columns, e.block, e.transposed});
  module->setAttr(kWeightsAttr, DenseI64ArrayAttr::get(module.getContext(), numbers));
}

} // namespace farskip
