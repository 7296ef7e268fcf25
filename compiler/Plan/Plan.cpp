// What the compiler recognised in a model, layer by layer.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Plan/Plan.h"
#include "compiler/Plan/Router.h"
#include "dialects/Onnx/OnnxOps.h"
#include "passes/Recognise/Passes.h"
#include "passes/Residual/ResidualStream.h"
#include "passes/Residual/Selection.h"
#include "passes/Shard/Passes.h"

using namespace farskip;
using namespace mlir;

namespace {

std::string nodeOf(Operation *op) {
  auto node = op ? op->getAttrOfType<StringAttr>("onnx.node") : StringAttr();
  return node ? node.str() : "";
}

/// The node at which the stream is joined, to name a block that was not recognised.
std::string place(const SubBlock &block) {
  std::string node = nodeOf(block.value.getDefiningOp());
  return node.empty() ? "" : " (it ends at node '" + node + "')";
}

void readAttention(const ResidualStream &stream, const SubBlock &block, LayerPlan &layer) {
  layer.attention = "operators";
  for (Operation *op : stream.slice(block.value)) {
    if (auto gqa = dyn_cast<onnx::MsGroupQueryAttentionOp>(op)) {
      layer.heads = gqa.getNumHeads();
      layer.kvHeads = gqa.getKvNumHeads();
    } else if (auto attention = dyn_cast<onnx::AttentionOp>(op)) {
      auto heads = [](Value x, std::optional<int64_t> given) -> int64_t {
        auto type = cast<RankedTensorType>(x.getType());
        return given ? *given : type.getRank() == 4 && !type.isDynamicDim(1) ? type.getDimSize(1) : 0;
      };
      layer.heads = heads(attention.getQ(), attention.getQNumHeads());
      layer.kvHeads = heads(attention.getK(), attention.getKvNumHeads());
    } else if (auto attend = dyn_cast<moe::AttendOp>(op)) {
      auto heads = [](Value x) { return std::max<int64_t>(0, cast<RankedTensorType>(x.getType()).getDimSize(1)); };
      layer.heads = heads(attend.getQ());
      layer.kvHeads = heads(attend.getK());
    } else {
      continue;
    }
    layer.attention = "grouped";
    return;
  }
  layer.missed.push_back("attention is compiled as it is spelled" + place(block));
}

void readExperts(const ResidualStream &stream, const SubBlock &block, int64_t ranks, LayerPlan &layer) {
  for (Operation *op : stream.slice(block.value)) {
    auto experts = dyn_cast<moe::ExpertsOp>(op);
    if (!experts)
      continue;
    ExpertsPlan plan;
    plan.experts = experts.expertCount();
    plan.topK = experts.slotCount();
    if (auto form = experts->getAttrOfType<StringAttr>(kFormAttr))
      plan.form = form.str();
    plan.router = readRouter(experts);
    for (int64_t rank = 0; rank < ranks; ++rank)
      plan.owned.push_back(plan.experts / ranks + (rank < plan.experts % ranks));
    layer.experts = std::move(plan);
    return;
  }
  std::string nearest;
  for (Operation *op : stream.slice(block.value))
    if (auto missed = op->getAttrOfType<StringAttr>(kMissedAttr))
      nearest = "; " + missed.str();
  layer.missed.push_back("its experts are spelled in a way that no rule knows, so every rank computes all of them" +
                         place(block) + nearest);
}

/// σ(gate) · shared: a product with what one column of a gate becomes.
bool isGated(const ResidualStream &stream, const SubBlock &shared) {
  for (Operation *op : stream.slice(shared.value))
    if (isa<onnx::SigmoidOp>(op))
      if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
        if (type.getRank() > 0 && type.getShape().back() == 1)
          return true;
  return false;
}

std::string describeBatch(ModuleOp module, func::FuncOp main, int64_t ranks, StringRef attention) {
  if (ranks == 1)
    return "one rank";
  if (module->hasAttr(kReplicatedAttr))
    return attention == "tensor" ? "every rank holds all tokens and computes what is outside the experts"
                                 : "the batch is fixed in the model: every rank holds all tokens";
  std::string text = "sequences are spread along";
  for (BlockArgument argument : main.getArguments())
    if (auto axis = main.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kShardAxisAttr)) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "onnx.name");
      text += " axis " + std::to_string(axis.getInt()) + " of " + (name ? name.str() : "?") + ",";
    }
  text.pop_back();
  return text;
}

} // namespace

Plan farskip::makePlan(ModuleOp module, int64_t ranks, StringRef attention, StringRef experts) {
  Plan plan;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  plan.ranks = ranks;
  plan.attention = attention.str();
  plan.expertsMode = experts.str();
  plan.batch = describeBatch(module, main, ranks, attention);
  ResidualStream stream(main);
  if (!stream.found()) {
    plan.noStream = stream.reason().str();
  }
  bool converted = module->hasAttr("farskip.part");
  for (auto [k, source] : llvm::enumerate(stream.layers)) {
    LayerPlan layer;
    layer.kind = source.isMoe() ? "moe" : "dense";
    layer.attention = "none";
    if (source.attention)
      readAttention(stream, *source.attention, layer);
    if (source.routed)
      readExperts(stream, *source.routed, ranks, layer);
    if (source.shared)
      layer.shared = isGated(stream, *source.shared) ? "gated" : "plain";
    if (source.isNative())
      layer.farskip = converted ? "converted" : "native";
    if (ranks > 1 && layer.experts) {
      bool replicated = module->hasAttr(kReplicatedAttr);
      for (StringRef kind : {"plan", "dispatch", "combine", "all_reduce"})
        if (kind != "all_reduce" || replicated)
          plan.collectives.push_back(
              {kind.str(), nodeOf(source.routed->value.getDefiningOp()), static_cast<int64_t>(k)});
    }
    plan.layers.push_back(std::move(layer));
  }
  return plan;
}

static std::string routerText(const ExpertsPlan &experts) {
  const RouterPlan &router = experts.router;
  std::string text = router.score == "softmax of the chosen" ? "top-k, softmax" : router.score + ", top-k";
  if (router.bias)
    text += ", bias";
  if (router.groups)
    text += ", groups";
  if (router.normalised)
    text += ", normalised";
  return text;
}

std::string farskip::planText(const Plan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "ranks " << plan.ranks << ", attention " << plan.attention << ", experts " << plan.expertsMode << "\n"
     << plan.batch << "\n\n";
  if (!plan.noStream.empty()) {
    os << "no residual stream: " << plan.noStream << "\n";
    return text;
  }
  std::vector<std::array<std::string, 6>> rows{{"layer", "kind", "attention", "experts", "shared", "farskip"}};
  for (auto [k, layer] : llvm::enumerate(plan.layers)) {
    std::string attention = layer.attention;
    if (layer.heads)
      attention = std::to_string(layer.heads) + "/" + std::to_string(layer.kvHeads) + " heads";
    std::string experts = "-";
    if (layer.experts)
      experts = std::to_string(layer.experts->topK) + " of " + std::to_string(layer.experts->experts) + ": " +
                routerText(*layer.experts) + " (" + layer.experts->form + ")";
    else if (layer.kind == "moe")
      experts = "not recognised";
    rows.push_back({std::to_string(k), layer.kind, attention, experts, layer.shared, layer.farskip});
  }
  std::array<size_t, 6> widths{};
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const auto &row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      os << row[i] << (i + 1 == row.size() ? "\n" : std::string(widths[i] - row[i].size() + 2, ' '));
  }
  bool first = true;
  for (auto [k, layer] : llvm::enumerate(plan.layers))
    for (const std::string &missed : layer.missed) {
      os << (first ? "\nnot recognised:\n" : "") << "  layer " << k << ": " << missed << "\n";
      first = false;
    }
  return text;
}

llvm::json::Value farskip::planJson(const Plan &plan) {
  using namespace llvm;
  json::Array layers, collectives;
  for (auto [k, layer] : llvm::enumerate(plan.layers)) {
    json::Object entry{
        {"layer", static_cast<int64_t>(k)},
        {"kind", layer.kind},
        {"attention", json::Object{{"form", layer.attention}, {"heads", layer.heads}, {"kv_heads", layer.kvHeads}}},
        {"shared", layer.shared},
        {"farskip", layer.farskip},
        {"experts", nullptr}};
    if (layer.experts) {
      const ExpertsPlan &experts = *layer.experts;
      entry["experts"] = json::Object{{"count", experts.experts},
                                      {"top_k", experts.topK},
                                      {"form", experts.form},
                                      {"owned", json::Array(experts.owned)},
                                      {"router", json::Object{{"score", experts.router.score},
                                                              {"bias", experts.router.bias},
                                                              {"groups", experts.router.groups},
                                                              {"normalised", experts.router.normalised}}}};
    }
    json::Array missed;
    for (const std::string &text : layer.missed)
      missed.push_back(json::fixUTF8(text));
    entry["missed"] = std::move(missed);
    layers.push_back(std::move(entry));
  }
  for (const Plan::Collective &collective : plan.collectives)
    collectives.push_back(
        json::Object{{"kind", collective.kind}, {"name", json::fixUTF8(collective.name)}, {"layer", collective.layer}});
  return json::Object{{"ranks", plan.ranks},
                      {"attention", plan.attention},
                      {"experts", plan.expertsMode},
                      {"batch", json::fixUTF8(plan.batch)},
                      {"residual_stream", plan.noStream.empty()},
                      {"reason", plan.noStream},
                      {"layers", std::move(layers)},
                      {"collectives", std::move(collectives)}};
}
