// Matrix products.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXMATMUL_TD
#define FARSKIP_DIALECTS_ONNX_ONNXMATMUL_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_MatMulOp : Onnx_Op<"MatMul", (ins Onnx_Tensor:$A, Onnx_Tensor:$B), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX MatMul-13: numpy.matmul";
}

def Onnx_MsFusedMatMulOp
    : Onnx_Op<"ms.FusedMatMul",
              (ins Onnx_Tensor:$A, Onnx_Tensor:$B, Onnx_Float<"1.0f">:$alpha, Onnx_Int<0>:$transA,
                   Onnx_Int<0>:$transB, Onnx_Int<0>:$transBatchA, Onnx_Int<0>:$transBatchB),
              (outs Onnx_Tensor:$Y)> {
  let summary = "alpha times numpy.matmul of operands whose last two axes may be swapped";
}

#endif
