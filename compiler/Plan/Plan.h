// What the compiler recognised in a model, layer by layer.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_PLAN_PLAN_H
#define FARSKIP_COMPILER_PLAN_PLAN_H

#include "dialects/Moe/MoeOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace farskip {

/// How tokens choose their experts.
struct RouterPlan {
  std::string score = "none"; ///< softmax, sigmoid, softmax of the chosen, or none
  bool bias = false;          ///< a bias takes part in choosing only
  bool groups = false;        ///< groups of experts are chosen first
  bool normalised = false;    ///< the chosen weights are divided by their sum
};

struct ExpertsPlan {
  int64_t experts = 0, topK = 0;
  std::string form; ///< how the model spells them: which rule recognised them
  RouterPlan router;
  std::vector<int64_t> owned; ///< experts of each rank
};

struct LayerPlan {
  std::string kind;               ///< "moe" or "dense"
  std::string attention;          ///< "grouped" (recognised), "operators" (compiled as it is spelled) or "none"
  int64_t heads = 0, kvHeads = 0; ///< of a recognised attention
  std::optional<ExpertsPlan> experts;
  std::string shared = "none";     ///< "none", "plain" or "gated"
  std::string farskip = "no";      ///< "no", "native" or "converted"
  std::vector<std::string> missed; ///< what was not recognised, and which rule missed it
};

struct Plan {
  int64_t ranks = 1;
  std::string attention, expertsMode;
  std::string batch;    ///< how sequences are spread, in words
  std::string noStream; ///< why no residual stream was found; empty when one was
  std::vector<LayerPlan> layers;
  struct Collective {
    std::string kind, name;
    int64_t layer;
  };
  std::vector<Collective> collectives;
};

/// Reads the plan off a module of onnx operators in which blocks have been recognised.
Plan makePlan(mlir::ModuleOp module, int64_t ranks, llvm::StringRef attention, llvm::StringRef experts);

/// One table for people.
std::string planText(const Plan &plan);
llvm::json::Value planJson(const Plan &plan);

} // namespace farskip

#endif
