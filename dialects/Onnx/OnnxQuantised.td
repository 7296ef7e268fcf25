// Operators on quantised weights.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXQUANTISED_TD
#define FARSKIP_DIALECTS_ONNX_ONNXQUANTISED_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_DequantizeLinearOp
    : Onnx_Op<"DequantizeLinear",
              (ins Onnx_Tensor:$x, Onnx_Tensor:$x_scale, Optional<Onnx_Tensor>:$x_zero_point, Onnx_Int<1>:$axis,
                   Onnx_Int<0>:$block_size, Onnx_Int<0>:$output_dtype),
              (outs Onnx_Tensor:$y)> {
  let summary = "ONNX DequantizeLinear-28 of integers: per tensor, per axis or in blocks";
}

def Onnx_QuantizeLinearOp
    : Onnx_Op<"QuantizeLinear",
              (ins Onnx_Tensor:$x, Onnx_Tensor:$y_scale, Optional<Onnx_Tensor>:$y_zero_point, Onnx_Int<1>:$axis,
                   Onnx_Int<0>:$block_size, Onnx_Int<0>:$output_dtype, Onnx_Int<0>:$precision, Onnx_Int<1>:$saturate),
              (outs Onnx_Tensor:$y)> {
  let summary = "ONNX QuantizeLinear-28 to integers; halves go to even, what is out of range saturates";
}

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

def Onnx_MsMatMulBnb4Op
    : Onnx_Op<"ms.MatMulBnb4",
              (ins Onnx_Tensor:$A, Onnx_Tensor:$B, Onnx_Tensor:$absmax, Onnx_RequiredInt:$K, Onnx_RequiredInt:$N,
                   Onnx_RequiredInt:$block_size, Onnx_RequiredInt:$quant_type, Onnx_Int<0>:$training_mode,
                   Onnx_Int<1>:$transB),
              (outs Onnx_Tensor:$Y)> {
  let summary = "A times weights N × K of four bits, fp4 (quant_type 0) or nf4 (1)";
  let description = [{
    B holds N · K numbers in row-major order, the first of two in the high bits; absmax is the scale of each block of
    block_size of them. With transB 0 the product is with the weights themselves, not with their transpose.
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
