// Rotary positions.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXROTARY_TD
#define FARSKIP_DIALECTS_ONNX_ONNXROTARY_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_RotaryEmbeddingOp
    : Onnx_Op<"RotaryEmbedding",
              (ins Onnx_Tensor:$X, Onnx_Tensor:$cos_cache, Onnx_Tensor:$sin_cache, Optional<Onnx_Tensor>:$position_ids,
                   Onnx_Int<0>:$interleaved, Onnx_Int<0>:$num_heads, Onnx_Int<0>:$rotary_embedding_dim),
              (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX RotaryEmbedding-23";
}

def Onnx_MsRotaryEmbeddingOp
    : Onnx_Op<"ms.RotaryEmbedding",
              (ins Onnx_Tensor:$input, Onnx_Tensor:$position_ids, Onnx_Tensor:$cos_cache, Onnx_Tensor:$sin_cache,
                   Onnx_Int<0>:$interleaved, Onnx_Int<0>:$is_packed_batching, Onnx_Int<0>:$num_heads,
                   Onnx_Int<0>:$rotary_embedding_dim, Onnx_Float<"1.0f">:$scale),
              (outs Onnx_Tensor:$output)> {
  let summary = "rotary positions as ONNX Runtime has them; position_ids [1] is an offset, [batch, sequence] each position";
}

#endif
