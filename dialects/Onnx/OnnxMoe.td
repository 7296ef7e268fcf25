// Mixture-of-experts operators of com.microsoft.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXMOE_TD
#define FARSKIP_DIALECTS_ONNX_ONNXMOE_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_MsMoEOp
    : Onnx_Op<"ms.MoE",
              (ins Onnx_Tensor:$input, Onnx_Tensor:$router_probs, Onnx_Tensor:$fc1_experts_weights,
                   Optional<Onnx_Tensor>:$fc1_experts_bias, Onnx_Tensor:$fc2_experts_weights,
                   Optional<Onnx_Tensor>:$fc2_experts_bias, Optional<Onnx_Tensor>:$fc3_experts_weights,
                   Optional<Onnx_Tensor>:$fc3_experts_bias, Onnx_Float<"1.0f">:$activation_alpha,
                   Onnx_Float<"0.0f">:$activation_beta, Onnx_Str<"relu">:$activation_type, Onnx_Int<1>:$k,
                   Onnx_Int<0>:$normalize_routing_weights, Onnx_Int<0>:$swiglu_fusion, Onnx_OptionalFloat:$swiglu_limit,
                   Onnx_Int<0>:$use_sparse_mixer),
              (outs Onnx_Tensor:$output), [AttrSizedOperandSegments]> {
  let summary = "softmax over logits, top k, and the weighted sum of the chosen experts";
  let description = [{
    `input` is T × H or B × S × H, `router_probs` T × E (logits). Weights are E × N × K, applied as x · Wᵀ; files older
    than that have E × K × N, told by the shape. Equal logits: the lower expert comes first (ONNX Runtime's CPU kernel
    takes the higher one).
  }];
}

#endif
