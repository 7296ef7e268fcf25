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

def Onnx_MsQMoEOp
    : Onnx_Op<"ms.QMoE",
              (ins Onnx_Tensor:$input, Onnx_Tensor:$router_probs, Onnx_Tensor:$fc1_experts_weights,
                   Optional<Onnx_Tensor>:$fc1_scales, Optional<Onnx_Tensor>:$fc1_experts_bias,
                   Onnx_Tensor:$fc2_experts_weights, Optional<Onnx_Tensor>:$fc2_scales,
                   Optional<Onnx_Tensor>:$fc2_experts_bias, Optional<Onnx_Tensor>:$fc3_experts_weights,
                   Optional<Onnx_Tensor>:$fc3_scales, Optional<Onnx_Tensor>:$fc3_experts_bias,
                   Optional<Onnx_Tensor>:$fc1_zero_points, Optional<Onnx_Tensor>:$fc2_zero_points,
                   Optional<Onnx_Tensor>:$fc3_zero_points, Optional<Onnx_Tensor>:$router_weights,
                   Optional<Onnx_Tensor>:$fc1_global_scale, Optional<Onnx_Tensor>:$fc2_global_scale,
                   Optional<Onnx_Tensor>:$fc1_act_scale, Optional<Onnx_Tensor>:$fc2_act_scale,
                   Optional<Onnx_Tensor>:$fc1_act_block_scale, Optional<Onnx_Tensor>:$fc2_act_block_scale,
                   Onnx_Int<0>:$accuracy_level, Onnx_Float<"1.0f">:$activation_alpha,
                   Onnx_Float<"0.0f">:$activation_beta, Onnx_Str<"relu">:$activation_type, Onnx_OptionalInt:$block_size,
                   Onnx_Int<4>:$expert_weight_bits, Onnx_OptionalInt:$fc1_expert_weight_bits,
                   Onnx_OptionalInt:$fc2_expert_weight_bits, Onnx_OptionalInt:$fc3_expert_weight_bits, Onnx_Int<1>:$k,
                   Onnx_Int<0>:$normalize_routing_weights, Onnx_Str<"int">:$quant_type, Onnx_Int<0>:$swiglu_fusion,
                   Onnx_OptionalFloat:$swiglu_limit, Onnx_Int<0>:$swiglu_limit_after_activation,
                   Onnx_Int<0>:$use_sparse_mixer, Onnx_Int<-1>:$weights_prepacked),
              (outs Onnx_Tensor:$output), [AttrSizedOperandSegments]> {
  let summary = "the chosen experts with weights of 2, 4 or 8 bits";
  let description = [{
    Experts are chosen by `router_probs`. Their weights are the softmax over the chosen logits, or with `router_weights`
    the numbers there, divided by their sum when normalize_routing_weights is set. Weights of experts are E × N × bytes,
    the first number in the lowest bits; scales E × N, or E × N × K / block_size.
  }];
}

#endif
