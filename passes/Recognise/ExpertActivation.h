// What stands between an expert's products in the operators of com.microsoft.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_EXPERTACTIVATION_H
#define FARSKIP_PASSES_RECOGNISE_EXPERTACTIVATION_H

#include "passes/Recognise/ExpertForms.h"
#include "passes/Recognise/GraphBuilder.h"

namespace farskip {

/// The activation of com.microsoft.MoE and QMoE, whose attributes have the same names.
class ExpertActivation {
public:
  template <typename OpT>
  ExpertActivation(OpT op, GraphBuilder &graph)
      : graph(graph), type(op.getActivationType()), fusion(op.getSwigluFusion()),
        alpha(op.getActivationAlpha().convertToFloat()), beta(op.getActivationBeta().convertToFloat()) {
    if (std::optional<mlir::APFloat> given = op.getSwigluLimit(); given && !given->isInfinity())
      limit = given->convertToFloat();
  }

  /// From the products with fc1 and, where there is one, fc3, what is multiplied with fc2.
  mlir::Value hidden(mlir::Value first, mlir::Value third);

private:
  mlir::Value half(mlir::Value fused, int64_t part);
  mlir::Value activated(mlir::Value x);
  mlir::Value gated(mlir::Value gate, mlir::Value linear);

  GraphBuilder &graph;
  llvm::StringRef type;
  int64_t fusion;
  float alpha, beta;
  std::optional<float> limit;
};

/// Adds a moe.experts at the place of `op` whose region `build` fills from some rows and one expert's slices of
/// `params`.
mlir::Value addExperts(mlir::Operation *op, RaiseContext &context, mlir::Value x, mlir::Value weights,
                       mlir::Value experts, llvm::ArrayRef<mlir::Value> params,
                       llvm::function_ref<mlir::Value(mlir::Value, llvm::ArrayRef<mlir::Value>)> build);

} // namespace farskip

#endif
