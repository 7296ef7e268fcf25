// Passes that recognise what the exporter's operators mean.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_PASSES_TD
#define FARSKIP_PASSES_RECOGNISE_PASSES_TD

include "mlir/Pass/PassBase.td"

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
