// Operators on quantised weights.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXQUANTISED_TD
#define FARSKIP_DIALECTS_ONNX_ONNXQUANTISED_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_MsMatMulNBitsOp
    : Onnx_Op<"ms.MatMulNBits",
              (ins Onnx_Tensor:$A, Onnx_Tensor:$B, Onnx_Tensor:$scales, Optional<Onnx_Tensor>:$zero_points,
                   Optional<Onnx_Tensor>:$g_idx, Optional<Onnx_Tensor>:$bias, Onnx_RequiredInt:$K, Onnx_RequiredInt:$N,
                   Onnx_Int<0>:$accuracy_level, Onnx_Int<4>:$bits, Onnx_RequiredInt:$block_size,
                   Onnx_Int<0>:$weight_prepacked),
              (outs Onnx_Tensor:$Y), [AttrSizedOperandSegments]> {
  let summary = "A times the transpose of weights of 2, 4 or 8 bits, quantised in blocks along K";
  let description = [{
    B is [N, ceil(K / block_size), block_size · bits / 8] of bytes, the first number in the lowest bits; B, scales and
    zero_points may have other shapes of as many elements. zero_points are packed like B or are floats.
  }];
}

def Onnx_MsGatherBlockQuantizedOp
    : Onnx_Op<"ms.GatherBlockQuantized",
              (ins Onnx_Tensor:$data, Onnx_Tensor:$indices, Onnx_Tensor:$scales, Optional<Onnx_Tensor>:$zero_points,
                   Onnx_Int<4>:$bits, Onnx_Int<128>:$block_size, Onnx_Int<0>:$gather_axis, Onnx_Int<1>:$quantize_axis),
              (outs Onnx_Tensor:$output)> {
  let summary = "rows of a quantised table as floats; an index outside the table gives zeros";
}

#endif
