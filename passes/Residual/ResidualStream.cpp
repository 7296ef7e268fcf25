// Finding the residual stream.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Residual/ResidualStream.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SetVector.h"

using namespace farskip;
using namespace mlir;

static bool is(Operation *op, std::initializer_list<StringRef> names) {
  StringRef name = op->getName().getStringRef();
  return name.consume_front("onnx.") && llvm::is_contained(names, name);
}

llvm::StringRef farskip::name(SubBlockKind kind) {
  switch (kind) {
  case SubBlockKind::Attention:
    return "attention";
  case SubBlockKind::Routed:
    return "routed";
  case SubBlockKind::Shared:
    return "shared";
  default:
    return "dense";
  }
}

std::string farskip::layerList(ArrayRef<int64_t> layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t j = i;
    while (j + 1 < layers.size() && layers[j + 1] == layers[j] + 1)
      ++j;
    text += (text.empty() ? "" : ",") + std::to_string(layers[i]);
    if (j > i)
      text += "-" + std::to_string(layers[j]);
    i = j + 1;
  }
  return text;
}

/// The two summands and the sum when `op` adds tensors of one shape, in
/// whatever spelling.
static std::optional<ResidualStream::Addition> asAddition(Operation *op) {
  if (is(op, {"Add"})) {
    if (op->getOperand(0).getType() != op->getOperand(1).getType())
      return std::nullopt;
    return ResidualStream::Addition{op, op->getOperand(0), op->getOperand(1), op->getResult(0)};
  }
  if (is(op, {"ms.SkipSimplifiedLayerNormalization", "ms.SkipLayerNormalization"}) && op->getNumResults() == 4)
    return ResidualStream::Addition{op, op->getOperand(1), op->getOperand(0), op->getResult(3)};
  return std::nullopt;
}

ResidualStream::ResidualStream(func::FuncOp function) {
  findChain(function);
  if (chain.size() < 2) {
    why = "no chain of additions runs through the model";
    return;
  }
  classify();
  if (layers.empty())
    why = "the chain of additions carries no attention block";
  else
    findNative();
}

/// Values that depend on what `root` holds; its shape alone carries nothing.
static llvm::DenseSet<Value> closure(Block &body, Value root) {
  llvm::DenseSet<Value> result{root};
  for (Operation &op : body)
    if (!is(&op, {"Shape", "Size"}) &&
        llvm::any_of(op.getOperands(), [&](Value operand) { return result.contains(operand); }))
      result.insert(op.result_begin(), op.result_end());
  return result;
}

void ResidualStream::findChain(func::FuncOp function) {
  // The stream begins early: of the first values that are added to something,
  // take the one with the longest chain.
  constexpr size_t kMaxRoots = 64;
  Block &body = function.getBody().front();
  llvm::SetVector<Value> roots;
  llvm::DenseSet<Value> results;
  SmallVector<Addition> additions;
  for (Operation &op : body)
    if (std::optional<Addition> addition = asAddition(&op)) {
      additions.push_back(*addition);
      results.insert(addition->result);
      for (Value operand : {addition->stream, addition->contribution}) {
        auto type = dyn_cast<RankedTensorType>(operand.getType());
        Operation *source = operand.getDefiningOp();
        bool constant = source && (is(source, {"Constant"}) || source->getNumOperands() == 0);
        if (type && isa<FloatType>(type.getElementType()) && type.getRank() >= 2 && !constant &&
            !results.contains(operand) && roots.size() < kMaxRoots)
          roots.insert(operand);
      }
    }
  for (Value root : roots) {
    llvm::DenseSet<Value> below = closure(body, root);
    llvm::DenseMap<Value, SmallVector<Value>> found;
    found[root] = {};
    SmallVector<Addition> adds;
    for (Addition addition : additions) {
      bool first = found.count(addition.stream), second = found.count(addition.contribution);
      if (first == second)
        continue;
      if (second)
        std::swap(addition.stream, addition.contribution);
      if (!below.contains(addition.contribution) || addition.contribution.getType() != root.getType())
        continue;
      SmallVector<Value> sum = found[addition.stream];
      sum.push_back(addition.contribution);
      found[addition.result] = std::move(sum);
      adds.push_back(addition);
    }
    if (adds.size() <= chain.size())
      continue;
    chain = adds;
    sums = std::move(found);
    begin = root;
    dependent = std::move(below);
  }
  if (chain.empty())
    return;
  // The main chain: backwards from the longest sum. The rest are side branches
  // (the N of a two-stream model).
  Value newest = chain.front().result;
  for (const Addition &addition : chain)
    if (sums[addition.result].size() >= sums[newest].size())
      newest = addition.result;
  llvm::DenseMap<Value, Addition> byResult;
  for (const Addition &addition : chain)
    byResult[addition.result] = addition;
  SmallVector<Addition> main;
  for (Value at = newest; at != begin; at = main.back().stream)
    main.push_back(byResult[at]);
  chain.assign(main.rbegin(), main.rend());
}

llvm::DenseSet<Operation *> ResidualStream::slice(Value value) const {
  llvm::DenseSet<Operation *> result;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value at = work.pop_back_val();
    Operation *op = at.getDefiningOp();
    if (!op || (isStreamRead(at) && at != value) || !dependent.contains(at) || !result.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      work.push_back(operand);
  }
  return result;
}

bool ResidualStream::hasRouter(Value value) const {
  return llvm::any_of(slice(value), [](Operation *op) { return is(op, {"TopK", "ArgMax", "ms.MoE", "ms.QMoE"}); });
}

/// A softmax over products of two things that both depend on the stream (scores
/// of queries and keys), or an attention operator. A router's softmax is over a
/// product with a weight.
bool ResidualStream::hasAttention(Value value) const {
  for (Operation *op : slice(value)) {
    if (op->getName().getStringRef() == "moe.attend" ||
        is(op, {"Attention", "ms.GroupQueryAttention", "ms.MultiHeadAttention", "ms.Attention", "LinearAttention"}))
      return true;
    if (!is(op, {"Softmax"}))
      continue;
    SmallVector<Value> work{op->getOperand(0)};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value at = work.pop_back_val();
      Operation *source = at.getDefiningOp();
      if (!source || !dependent.contains(at) || isStreamRead(at) || !seen.insert(at).second)
        continue;
      if (is(source, {"MatMul", "Einsum", "Gemm", "ms.FusedMatMul"})) {
        if (dependent.contains(source->getOperand(0)) && dependent.contains(source->getOperand(1)))
          return true;
        continue;
      }
      for (Value operand : source->getOperands())
        work.push_back(operand);
    }
  }
  return false;
}

/// What may stand between an inner sum and the stream and distributes over it:
/// returns the operand it applies to.
static Value unwrap(Operation *op, const llvm::DenseSet<Value> &dependent) {
  if (is(op, {"Reshape", "Cast", "Identity", "Squeeze", "Unsqueeze", "Flatten"}))
    return op->getOperand(0);
  if (is(op, {"Mul", "Div"}) && !dependent.contains(op->getOperand(1)))
    return op->getOperand(0);
  if (is(op, {"Mul"}) && !dependent.contains(op->getOperand(0)))
    return op->getOperand(1);
  return {};
}

SmallVector<SubBlock> ResidualStream::split(Value contribution) const {
  auto single = [&](Value value) {
    SubBlock block;
    block.kind = hasRouter(value)      ? SubBlockKind::Routed
                 : hasAttention(value) ? SubBlockKind::Attention
                                       : SubBlockKind::Dense;
    block.value = value;
    return block;
  };
  SmallVector<Operation *> wrappers;
  Value at = contribution;
  while (Operation *op = at.getDefiningOp()) {
    if (std::optional<Addition> sum = asAddition(op); sum && is(op, {"Add"})) {
      SubBlock a = single(sum->stream), b = single(sum->contribution);
      bool router = a.kind == SubBlockKind::Routed && b.kind == SubBlockKind::Routed;
      bool useful =
          a.kind != b.kind && !router && dependent.contains(sum->stream) && dependent.contains(sum->contribution);
      if (!useful)
        break;
      if (a.kind == SubBlockKind::Routed && b.kind == SubBlockKind::Dense)
        b.kind = SubBlockKind::Shared;
      if (b.kind == SubBlockKind::Routed && a.kind == SubBlockKind::Dense)
        a.kind = SubBlockKind::Shared;
      std::reverse(wrappers.begin(), wrappers.end());
      a.wrappers = b.wrappers = wrappers;
      a.sum = b.sum = sum->result;
      // Attention first, then shared, then routed: the order of a layer.
      auto order = [](const SubBlock &x) {
        return x.kind == SubBlockKind::Attention ? 0 : x.kind == SubBlockKind::Routed ? 2 : 1;
      };
      if (order(b) < order(a))
        std::swap(a, b);
      return {a, b};
    }
    Value inner = unwrap(op, dependent);
    if (!inner || !op->hasOneUse())
      break;
    wrappers.push_back(op);
    at = inner;
  }
  return {single(contribution)};
}

void ResidualStream::classify() {
  for (const Addition &addition : chain)
    for (SubBlock block : split(addition.contribution)) {
      block.add = addition.op;
      if (block.kind == SubBlockKind::Attention) {
        layers.emplace_back();
        block.layer = layers.size() - 1;
        layers.back().attention = block;
        continue;
      }
      if (layers.empty())
        continue; // before the first layer: part of the embedding
      StreamLayer &layer = layers.back();
      block.layer = layers.size() - 1;
      switch (block.kind) {
      case SubBlockKind::Routed:
        // A sum added just before belongs to the same MoE block.
        if (layer.dense && !layer.shared) {
          layer.shared = layer.dense;
          layer.shared->kind = SubBlockKind::Shared;
          layer.dense.reset();
        }
        layer.routed = block;
        break;
      case SubBlockKind::Shared:
        layer.shared = block;
        break;
      default:
        layer.dense = block;
      }
    }
}

void ResidualStream::findNative() {
  // For each block the contributions that its reads lack, of those that were
  // there before it in the chain.
  auto reads = [&](const SubBlock &block) {
    llvm::DenseSet<Value> present;
    for (Operation *op : slice(block.value))
      for (Value operand : op->getOperands())
        if (auto at = sums.find(operand); at != sums.end())
          present.insert(at->second.begin(), at->second.end());
    return present;
  };
  auto parts = [&](const SubBlock &block) -> SmallVector<Value> {
    // The values by which a sum may name this block: itself, or the joint
    // contribution it is part of.
    SmallVector<Value> names{block.value};
    for (const Addition &addition : chain)
      if (addition.op == block.add)
        names.push_back(addition.contribution);
    return names;
  };
  auto lacks = [&](const llvm::DenseSet<Value> &present, const SubBlock &block) {
    return llvm::none_of(parts(block), [&](Value value) { return present.contains(value); });
  };
  bool anyMoe = false;
  for (size_t k = 0; k < layers.size(); ++k) {
    StreamLayer &layer = layers[k];
    if (k && layers[k - 1].routed)
      layer.staleAttention = lacks(reads(*layer.attention), *layers[k - 1].routed);
    const std::optional<SubBlock> &mlp = layer.routed ? layer.routed : layer.dense;
    if (mlp)
      layer.staleMoe = lacks(reads(*mlp), *layer.attention);
    anyMoe |= layer.staleAttention || (layer.isMoe() && layer.staleMoe);
  }
  // A parallel block (GPT-J) is no FarSkip layer.
  if (!anyMoe)
    for (StreamLayer &layer : layers) {
      layer.parallel = layer.staleMoe;
      layer.staleAttention = layer.staleMoe = false;
    }
}

std::string ResidualStream::nativeLayers() const {
  SmallVector<int64_t> numbers;
  for (auto [k, layer] : llvm::enumerate(layers))
    if (layer.isNative())
      numbers.push_back(k);
  return layerList(numbers);
}
