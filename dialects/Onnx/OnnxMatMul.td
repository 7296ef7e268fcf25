// Matrix products.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXMATMUL_TD
#define FARSKIP_DIALECTS_ONNX_ONNXMATMUL_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_MatMulOp : Onnx_Op<"MatMul", (ins Onnx_Tensor:$A, Onnx_Tensor:$B), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX MatMul-13: numpy.matmul";
}

#endif
