// The residual stream of a model: who adds to it, who reads it, found by
// structure alone. SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RESIDUAL_RESIDUALSTREAM_H
#define FARSKIP_PASSES_RESIDUAL_RESIDUALSTREAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace farskip {

enum class SubBlockKind { Attention, Routed, Shared, Dense };
llvm::StringRef name(SubBlockKind kind);

/// A summand of the stream. A contribution `c = wrap(r + s)` of which one side
/// does not depend on the router is two of them; `wrap` is what lies between
/// the inner sum and the stream (reshapes, casts, a scale) and applies to each.
struct SubBlock {
  SubBlockKind kind;
  int64_t layer = 0;
  mlir::Value value;                             ///< before `wrappers`
  llvm::SmallVector<mlir::Operation *> wrappers; ///< innermost first
  mlir::Value sum;                               ///< the inner sum that `wrappers` apply to in the source
  mlir::Operation *add = nullptr;                ///< the addition to the main chain
};

/// One transformer layer: an attention block, then a MoE block (routed and
/// perhaps shared experts) or a dense one.
struct StreamLayer {
  std::optional<SubBlock> attention, routed, shared, dense;
  bool isMoe() const { return routed.has_value(); }
  /// Already in FarSkip form: what its attention or its MLP reads lacks a
  /// contribution that a standard layer's has.
  bool staleAttention = false, staleMoe = false;
  bool isNative() const { return staleAttention || staleMoe; }
  /// The MLP reads what attention reads (GPT-J), in a model without FarSkip layers.
  bool parallel = false;
};

class ResidualStream {
public:
  /// Finds the stream of `function` (onnx operations, one block). When there is
  /// none, `reason()` says why.
  explicit ResidualStream(mlir::func::FuncOp function);

  bool found() const { return !layers.empty(); }
  llvm::StringRef reason() const { return why; }

  mlir::Value begin;
  /// Stream additions in the order of the chain: `result = stream +
  /// contribution`.
  struct Addition {
    mlir::Operation *op;
    mlir::Value stream, contribution, result;
  };
  llvm::SmallVector<Addition> chain;
  std::vector<StreamLayer> layers;
  /// All values that are sums of the beginning and contributions, side branches
  /// included.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> sums;

  /// The operations that compute `value` from stream values (not beyond them).
  llvm::DenseSet<mlir::Operation *> slice(mlir::Value value) const;
  /// "0,2,5-9" of the layers already in FarSkip form.
  std::string nativeLayers() const;

private:
  void findChain(mlir::func::FuncOp function);
  void classify();
  void findNative();
  bool hasRouter(mlir::Value value) const;
  bool hasAttention(mlir::Value value) const;
  llvm::SmallVector<SubBlock> split(mlir::Value contribution) const;
  bool isStreamRead(mlir::Value value) const { return sums.count(value); }

  llvm::DenseSet<mlir::Value> dependent; ///< values that depend on `begin`
  std::string why;
};

/// Layer numbers as text, runs joined: "0,2,5-9".
std::string layerList(llvm::ArrayRef<int64_t> layers);

} // namespace farskip

#endif
