// Attention and the caches of keys and values.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXATTENTION_TD
#define FARSKIP_DIALECTS_ONNX_ONNXATTENTION_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_AttentionOp
    : Onnx_Op<"Attention",
              (ins Onnx_Tensor:$Q, Onnx_Tensor:$K, Onnx_Tensor:$V, Optional<Onnx_Tensor>:$attn_mask,
                   Optional<Onnx_Tensor>:$past_key, Optional<Onnx_Tensor>:$past_value,
                   Optional<Onnx_Tensor>:$nonpad_kv_seqlen, Onnx_Int<0>:$is_causal, Onnx_OptionalInt:$kv_num_heads,
                   Onnx_Int<-1>:$left_window_size, Onnx_OptionalInt:$q_num_heads, Onnx_Int<0>:$qk_matmul_output_mode,
                   Onnx_Int<-1>:$right_window_size, Onnx_OptionalFloat:$scale, Onnx_Float<"0.0f">:$softcap,
                   Onnx_OptionalInt:$softmax_precision),
              (outs Onnx_Tensor:$Y, Onnx_Tensor:$present_key, Onnx_Tensor:$present_value,
                    Onnx_Tensor:$qk_matmul_output),
              [AttrSizedOperandSegments]> {
  let summary = "ONNX Attention-25; a row that sees no key is zero";
}

def Onnx_MsGroupQueryAttentionOp
    : Onnx_Op<"ms.GroupQueryAttention",
              (ins Onnx_Tensor:$query, Optional<Onnx_Tensor>:$key, Optional<Onnx_Tensor>:$value,
                   Optional<Onnx_Tensor>:$past_key, Optional<Onnx_Tensor>:$past_value, Onnx_Tensor:$seqlens_k,
                   Onnx_Tensor:$total_sequence_length, Optional<Onnx_Tensor>:$cos_cache,
                   Optional<Onnx_Tensor>:$sin_cache, Optional<Onnx_Tensor>:$position_ids,
                   Optional<Onnx_Tensor>:$attention_bias, Optional<Onnx_Tensor>:$head_sink,
                   Optional<Onnx_Tensor>:$k_scale, Optional<Onnx_Tensor>:$v_scale,
                   Optional<Onnx_Tensor>:$q_norm_weight, Optional<Onnx_Tensor>:$k_norm_weight,
                   Optional<Onnx_Tensor>:$query_seqlens, Onnx_Int<1>:$causal, Onnx_Int<0>:$do_rotary,
                   Onnx_OptionalFloat:$k_norm_epsilon, Onnx_Str<"NONE">:$k_quant_type,
                   Onnx_OptionalInt:$kv_cache_bit_width, Onnx_RequiredInt:$kv_num_heads,
                   Onnx_Int<-1>:$local_window_size, Onnx_RequiredInt:$num_heads, Onnx_OptionalFloat:$q_norm_epsilon,
                   Onnx_Float<"1e-6f">:$qk_norm_epsilon, Onnx_Int<0>:$qk_output, Onnx_Int<0>:$rotary_interleaved,
                   Onnx_OptionalFloat:$scale, Onnx_Int<0>:$sliding_window_cache, Onnx_Int<-1>:$smooth_softmax,
                   Onnx_Float<"0.0f">:$softcap, Onnx_Str<"NONE">:$v_quant_type),
              (outs Onnx_Tensor:$output, Onnx_Tensor:$present_key, Onnx_Tensor:$present_value,
                    Onnx_Tensor:$output_qk),
              [AttrSizedOperandSegments]> {
  let summary = "causal attention with a cache of keys and values, rotary positions and windows";
  let description = [{
    Sequence b has seqlens_k[b] + 1 tokens after this step, of which the query's are the last. present is as long as the
    past buffer, or as total_sequence_length where that is longer.
  }];
}

def Onnx_MsMultiHeadAttentionOp
    : Onnx_Op<"ms.MultiHeadAttention",
              (ins Onnx_Tensor:$query, Optional<Onnx_Tensor>:$key, Optional<Onnx_Tensor>:$value,
                   Optional<Onnx_Tensor>:$bias, Optional<Onnx_Tensor>:$key_padding_mask,
                   Optional<Onnx_Tensor>:$attention_bias, Optional<Onnx_Tensor>:$past_key,
                   Optional<Onnx_Tensor>:$past_value, Optional<Onnx_Tensor>:$past_sequence_length,
                   Optional<Onnx_Tensor>:$cache_indirection, Onnx_Float<"-10000.0f">:$mask_filter_value,
                   Onnx_RequiredInt:$num_heads, Onnx_OptionalFloat:$scale, Onnx_Int<0>:$unidirectional),
              (outs Onnx_Tensor:$output, Onnx_Tensor:$present_key, Onnx_Tensor:$present_value, Onnx_Tensor:$qk),
              [AttrSizedOperandSegments]> {
  let summary = "attention of as many key heads as query heads; what is masked gets mask_filter_value added";
  let description = [{
    query is [B, S, hidden], or with key and value in it [B, S, heads, 3, size]. key and value are [B, L, hidden], or one
    [B, L, heads, 2, size], or both as they stand in a cache, [B, heads, L, size].
  }];
}

def Onnx_MsAttentionOp
    : Onnx_Op<"ms.Attention",
              (ins Onnx_Tensor:$input, Onnx_Tensor:$weights, Optional<Onnx_Tensor>:$bias,
                   Optional<Onnx_Tensor>:$mask_index, Optional<Onnx_Tensor>:$past, Optional<Onnx_Tensor>:$attention_bias,
                   Optional<Onnx_Tensor>:$past_sequence_length, Onnx_Int<0>:$do_rotary,
                   Onnx_Float<"-10000.0f">:$mask_filter_value, Onnx_RequiredInt:$num_heads,
                   Onnx_Int<0>:$past_present_share_buffer, Onnx_OptionalInts:$qkv_hidden_sizes,
                   Onnx_OptionalInt:$rotary_embedding_dim, Onnx_OptionalFloat:$scale, Onnx_Int<0>:$unidirectional),
              (outs Onnx_Tensor:$output, Onnx_Tensor:$present), [AttrSizedOperandSegments]> {
  let summary = "attention with the projection of queries, keys and values in it";
}

def Onnx_TensorScatterOp
    : Onnx_Op<"TensorScatter",
              (ins Onnx_Tensor:$past_cache, Onnx_Tensor:$update, Optional<Onnx_Tensor>:$write_indices,
                   Onnx_Int<-2>:$axis, Onnx_Str<"linear">:$mode),
              (outs Onnx_Tensor:$present_cache)> {
  let summary = "ONNX TensorScatter-24";
}

#endif
