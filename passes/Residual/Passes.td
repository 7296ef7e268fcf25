// Passes of the phases `model` and `connected`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RESIDUAL_PASSES_TD
#define FARSKIP_PASSES_RESIDUAL_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitSkipNormsPass : Pass<"split-skip-norms", "::mlir::func::FuncOp"> {
  let summary = "split norms that also add to the residual stream";
  let description = [{
    `onnx.ms.SkipSimplifiedLayerNormalization` becomes `onnx.Add` and `onnx.SimplifiedLayerNormalization`,
    `onnx.ms.SkipLayerNormalization` likewise `onnx.LayerNormalization`, so that the norm's read of the stream can move
    by itself. The last norm of a model, whose sum nobody reads, is split as well: it holds the last addition.
  }];
  let statistics = [Statistic<"split", "norms-split", "norms split">];
}

def ConnectFarskipPass : Pass<"connect-farskip", "::mlir::ModuleOp"> {
  let summary = "move residual reads to FarSkip form";
  let description = [{
    Finds the residual stream and, in the selected layers, lets attention read the stream without the routed experts of
    the layer before (N) and the MoE block the stream without the attention of its own layer. With R the stream with the
    routed experts:

    ```
    a = Attn(LN1(N));  m = R;  R' = R + a;  N = R' + Shared(LN2(m));  R = N + Routed(LN2(m))
    ```

    A dense layer has R = N = R' + MLP(LN2(m)). Every MoE layer, selected or not, hands on the pair (R, N). Where shared
    and routed experts are normed together, or there is no shared expert, N = R'. Operations that both blocks share are
    cloned, casts that do nothing are removed first. Layers that are already in this form stay as they are. The layers in FarSkip form, native ones included, are
    noted in the module's attribute `farskip.layers`, the part in `farskip.part`.
  }];
  let options = [Option<"layers", "layers", "std::string", "\"none\"", "layers to convert">,
                 Option<"part", "part", "std::string", "\"both\"", "which reads move: both, attention or moe">];
  let statistics = [Statistic<"converted", "layers-converted", "layers put into FarSkip form">];
}

#endif
