// Passes that recognise what the exporter's operators mean.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_PASSES_TD
#define FARSKIP_PASSES_RECOGNISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseAttentionPass : Pass<"raise-attention", "::mlir::func::FuncOp"> {
  let summary = "find attention spelled in small operators and write each as one moe.attend";
  let description = [{
    softmax(scale · q · kᵀ + mask) · v by structure alone, with what exporters add to it: factors on q and k, repeated
    heads of k and v, a sink as one more column, NaN cleared after softmax, rows that see nothing cleared afterwards. What
    a mask says by position (causal, window) is taken out of it, so that no tensor grows with rows times keys. A row that
    sees no key becomes what the small operators made of it.

    ```mlir
    %s = "onnx.MatMul"(%q, %kt) …
    %m = "onnx.Add"(%s, %mask) …
    %p = "onnx.Softmax"(%m) …
    %y = "onnx.MatMul"(%p, %v) …
    // becomes
    %y = "moe.attend"(%q, %k, %v, %padding) {scale = …, causal, unseen = "mean"} …
    ```
  }];
  let statistics = [Statistic<"raised", "attention-raised", "blocks of attention raised">];
  let dependentDialects = ["::farskip::moe::MoeDialect"];
}

def RaiseNormsPass : Pass<"raise-norms", "::mlir::func::FuncOp"> {
  let summary = "find norms spelled in small operators and write each as one operator";
  let description = [{
    γ · x / √(mean(x²) + ε) over the last axis becomes `onnx.RMSNormalization`, γ · (x − mean) / √(variance + ε) + β
    becomes `onnx.LayerNormalization`. Only where the statistics are computed in f32, as the operators do.
  }];
  let statistics = [Statistic<"raised", "norms-raised", "norms raised">];
  let dependentDialects = ["::farskip::onnx::OnnxDialect"];
}

def RaiseExpertsPass : Pass<"raise-experts", "::mlir::func::FuncOp"> {
  let summary = "find mixture-of-experts blocks and write each as one moe.experts";
  let description = [{
    Recognises by structure how exporters spell the experts: `com.microsoft` operators; all pairs of a token and a slot
    at once, with gathered weights; a loop over the experts, each on the tokens that chose it; pairs sorted by expert;
    every expert on every token. What no rule knows stays as it is; `farskip.missed` on the last operation of what looked
    like a block says which rule gave up where. Warns of exports that have frozen the traced input's routing.

    ```mlir
    %y = "onnx.ms.MoE"(%x, %logits, %fc1, %fc2) …
    // becomes
    %w, %e = softmax, top-k …
    %y = moe.experts %x, %w, %e params(%fc1, %fc2) …
    ```
  }];
  let statistics = [Statistic<"raised", "blocks-raised", "mixture-of-experts blocks raised">];
  let dependentDialects = ["::farskip::moe::MoeDialect"];
}

#endif
