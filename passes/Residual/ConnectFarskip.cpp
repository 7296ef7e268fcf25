// Pass connect-farskip.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/OnnxOps.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Residual/Passes.h"
#include "passes/Residual/ResidualStream.h"
#include "passes/Residual/Selection.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_CONNECTFARSKIPPASS
#include "passes/Residual/Passes.h.inc"

namespace {

/// Rebuilds the stream of one function layer by layer.
class Connector {
public:
  Connector(func::FuncOp function, ResidualStream &stream, ArrayRef<int64_t> selected, bool attention, bool moe)
      : body(function.getBody().front()), stream(stream), selected(selected.begin(), selected.end()),
        moveAttention(attention), moveMoe(moe), b(body.getTerminator()) {}

  void run() {
    collectSlices();
    Value full = stream.begin, early = stream.begin; // R and N
    size_t next = 0;
    // Additions before the first layer belong to the embedding.
    while (next < stream.chain.size() && stream.chain[next].op != stream.layers[0].attention->add)
      full = early = stream.chain[next++].result;
    for (auto [k, layer] : llvm::enumerate(stream.layers))
      connect(k, layer, full, early);
    for (auto &[value, replacement] : exposed)
      value.replaceUsesWithIf(replacement, [&](OpOperand &use) { return use.getOwner() == body.getTerminator(); });
    Value last = stream.chain.back().result;
    if (full != last)
      last.replaceUsesWithIf(full, [&](OpOperand &use) { return !isChainOrBlock(use.getOwner()); });
    sortTopologically(&body);
    eraseDead();
  }

private:
  /// The operations of each block, to know which are shared between two.
  void collectSlices() {
    for (auto [position, op] : llvm::enumerate(body))
      positions[&op] = position;
    auto add = [&](const std::optional<SubBlock> &block) {
      if (block)
        for (Operation *op : stream.slice(block->value))
          ++owners[op];
    };
    for (const StreamLayer &layer : stream.layers) {
      add(layer.attention);
      llvm::DenseSet<Operation *> mlp;
      for (const std::optional<SubBlock> *block : {&layer.routed, &layer.shared, &layer.dense})
        if (*block) {
          llvm::DenseSet<Operation *> ops = stream.slice((*block)->value);
          mlp.insert(ops.begin(), ops.end());
        }
      for (Operation *op : mlp)
        ++owners[op];
    }
    for (const ResidualStream::Addition &addition : stream.chain)
      chainOps.insert(addition.op);
  }

  bool isChainOrBlock(Operation *op) const { return chainOps.contains(op) || owners.contains(op); }

  /// Lets the blocks read `wanted` wherever they read the stream. Operations
  /// that a block of another kind uses too are cloned. Returns what the blocks'
  /// values are now.
  SmallVector<Value> readFrom(ArrayRef<Value> values, Value wanted) {
    llvm::DenseSet<Operation *> ops;
    for (Value value : values) {
      llvm::DenseSet<Operation *> slice = stream.slice(value);
      ops.insert(slice.begin(), slice.end());
    }
    SmallVector<Operation *> ordered(ops.begin(), ops.end());
    llvm::sort(ordered, [&](Operation *x, Operation *y) { return positions.lookup(x) < positions.lookup(y); });
    IRMapping mapping;
    for (Operation *op : ordered) {
      bool reads = llvm::any_of(op->getOperands(),
                                [&](Value operand) { return stream.sums.count(operand) && operand != wanted; });
      bool mapped = llvm::any_of(op->getOperands(), [&](Value operand) { return mapping.contains(operand); });
      if (!reads && !mapped)
        continue;
      Operation *target = op;
      if (owners.lookup(op) > 1) {
        --owners[op];
        b.setInsertionPointAfter(op);
        target = b.clone(*op, mapping);
        rename(target);
        for (auto [old, fresh] : llvm::zip(op->getResults(), target->getResults()))
          mapping.map(old, fresh);
        owners[target] = 1;
      }
      for (OpOperand &operand : target->getOpOperands()) {
        if (stream.sums.count(operand.get()))
          operand.set(wanted);
        else if (Value fresh = mapping.lookupOrNull(operand.get()))
          operand.set(fresh);
      }
    }
    SmallVector<Value> results;
    for (Value value : values)
      results.push_back(mapping.lookupOrDefault(value));
    return results;
  }

  /// Clones the wrappers of a split contribution around its part.
  Value wrap(const SubBlock &block, Value value) {
    Value inner = block.sum;
    for (Operation *wrapper : block.wrappers) {
      b.setInsertionPoint(body.getTerminator());
      IRMapping mapping;
      mapping.map(inner, value);
      Operation *clone = b.clone(*wrapper, mapping);
      rename(clone);
      inner = wrapper->getResult(0);
      value = clone->getResult(0);
    }
    return value;
  }

  /// `left + right`, in the place of the source's addition `like`; `extra` when
  /// that one has another successor too.
  Value add(Value left, Value right, Operation *like, bool extra = false) {
    b.setInsertionPoint(body.getTerminator());
    auto sum = onnx::AddOp::create(b, like->getLoc(), left.getType(), left, right);
    if (Attribute node = like->getAttr("onnx.node"))
      sum->setAttr("onnx.node", node);
    if (Attribute outputs = like->getAttr("onnx.outputs"))
      sum->setAttr("onnx.outputs", outputs);
    if (extra)
      rename(sum);
    return sum;
  }

  /// A clone needs names of its own.
  void rename(Operation *op) {
    std::string suffix = "/farskip" + std::to_string(fresh++);
    auto node = op->getAttrOfType<StringAttr>("onnx.node");
    op->setAttr("onnx.node", b.getStringAttr((node ? node.getValue() : "") + suffix));
    if (auto outputs = op->getAttrOfType<ArrayAttr>("onnx.outputs")) {
      SmallVector<Attribute> names;
      for (Attribute output : outputs) {
        StringRef name = cast<StringAttr>(output).getValue();
        names.push_back(b.getStringAttr(name.empty() ? name.str() : name.str() + suffix));
      }
      op->setAttr("onnx.outputs", b.getArrayAttr(names));
    }
  }

  void connect(int64_t k, StreamLayer &layer, Value &full, Value &early) {
    bool converted = selected.contains(k);
    Value before = full;
    Value a = readFrom({layer.attention->value}, converted && moveAttention ? early : full)[0];
    a = wrap(*layer.attention, a);
    Value middle = add(full, a, layer.attention->add); // R'
    Value m = layer.parallel || (converted && moveMoe) ? before : middle;
    if (layer.dense) {
      Value d = readFrom({layer.dense->value}, m)[0];
      full = early = add(middle, wrap(*layer.dense, d), layer.dense->add);
    } else if (layer.routed && layer.shared) {
      SmallVector<Value> parts = readFrom({layer.shared->value, layer.routed->value}, m);
      Value s = wrap(*layer.shared, parts[0]), r = wrap(*layer.routed, parts[1]);
      // An unconverted layer keeps the association of the source.
      bool joint = layer.shared->add == layer.routed->add;
      early = add(middle, s, layer.shared->add, joint);
      if (converted || !joint)
        full = add(early, r, layer.routed->add);
      else
        full = add(middle, joined(layer, parts), layer.routed->add);
    } else if (layer.routed) {
      Value r = readFrom({layer.routed->value}, m)[0];
      early = middle;
      full = add(middle, wrap(*layer.routed, r), layer.routed->add);
    } else {
      full = early = middle;
    }
    record(layer, middle, full);
  }

  /// The source's own contribution where its operations still stand, else the
  /// sum of the parts as they are now.
  Value joined(const StreamLayer &layer, ArrayRef<Value> parts) {
    if (parts[0] == layer.shared->value && parts[1] == layer.routed->value)
      for (const ResidualStream::Addition &addition : stream.chain)
        if (addition.op == layer.routed->add)
          return addition.contribution;
    return wrap(*layer.routed, add(parts[0], parts[1], layer.routed->add, /*extra=*/true));
  }

  /// Program outputs that expose the stream keep the meaning "with everything
  /// so far".
  void record(const StreamLayer &layer, Value middle, Value full) {
    const std::optional<SubBlock> &last = layer.routed ? layer.routed : layer.dense ? layer.dense : layer.attention;
    for (const ResidualStream::Addition &addition : stream.chain) {
      if (addition.op == layer.attention->add)
        exposed.push_back({addition.result, middle});
      if (addition.op == last->add)
        exposed.push_back({addition.result, full});
    }
  }

  void eraseDead() {
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty() && isMemoryEffectFree(op))
        op->erase();
  }

  mlir::Block &body;
  ResidualStream &stream;
  llvm::DenseSet<int64_t> selected;
  bool moveAttention, moveMoe;
  OpBuilder b;
  llvm::DenseMap<Operation *, int> owners;
  llvm::DenseMap<Operation *, size_t> positions;
  llvm::DenseSet<Operation *> chainOps;
  SmallVector<std::pair<Value, Value>> exposed;
  int64_t fresh = 0;
};

/// Casts to the type that the value has already, which exporters leave on the stream.
void eraseNoOpCasts(func::FuncOp function) {
  SmallVector<onnx::CastOp> casts;
  function.walk([&](onnx::CastOp cast) {
    if (cast.getInput().getType() == cast.getOutput().getType())
      casts.push_back(cast);
  });
  for (onnx::CastOp cast : casts) {
    cast.getOutput().replaceAllUsesWith(cast.getInput());
    cast.erase();
  }
}

struct ConnectFarskipPass : impl::ConnectFarskipPassBase<ConnectFarskipPass> {
  using ConnectFarskipPassBase::ConnectFarskipPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main)
      return;
    eraseNoOpCasts(main);
    ResidualStream stream(main);
    bool wanted = layers != "none";
    if (!stream.found()) {
      if (wanted) {
        module.emitError() << "no residual stream: " << stream.reason() << "; --farskip=" << layers
                           << " cannot be applied";
        signalPassFailure();
      }
      return;
    }
    llvm::Expected<SmallVector<int64_t>> selected = parseSelection(layers, stream.layers.size());
    if (!selected) {
      module.emitError() << "--farskip: " << llvm::toString(selected.takeError());
      return signalPassFailure();
    }
    SmallVector<int64_t> all, native, convert;
    for (auto [k, layer] : llvm::enumerate(stream.layers)) {
      bool chosen = llvm::is_contained(*selected, static_cast<int64_t>(k));
      if (layer.isNative())
        native.push_back(k);
      else if (chosen)
        convert.push_back(k);
      if (layer.isNative() || chosen)
        all.push_back(k);
    }
    if (all.empty())
      return;
    if (!convert.empty() && !native.empty()) {
      module.emitError() << "layers " << layerList(native) << " are already in FarSkip form and layers "
                         << layerList(convert) << " are not; converting a part of such a model is not supported";
      return signalPassFailure();
    }
    Builder b(&getContext());
    module->setAttr("farskip.layers", b.getStringAttr(layerList(all)));
    if (convert.empty()) {
      if (!selected->empty())
        module.emitRemark() << "layers " << layerList(native) << " are already in FarSkip form";
      return;
    }
    module->setAttr("farskip.part", b.getStringAttr(part));
    auto metadata = module->getAttrOfType<DictionaryAttr>("onnx.metadata");
    if (!metadata || !metadata.contains("farskip.layers"))
      module.emitWarning() << "layers " << layerList(convert)
                           << " are put into FarSkip form, which changes what "
                              "the model computes; it is not marked as "
                              "trained or distilled for that (metadata key "
                              "farskip.layers), so its answers may be "
                              "useless";
    Connector(main, stream, convert, part != "moe", part != "attention").run();
    converted += convert.size();
  }
};

} // namespace
} // namespace farskip
