// Activations of com.microsoft that fuse a bias.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXFUSED_TD
#define FARSKIP_DIALECTS_ONNX_ONNXFUSED_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_MsGeluOp : Onnx_Op<"ms.Gelu", (ins Onnx_Tensor:$X), (outs Onnx_Tensor:$Y)> {
  let summary = "Gelu by the error function";
}
def Onnx_MsBiasGeluOp : Onnx_Op<"ms.BiasGelu", (ins Onnx_Tensor:$A, Onnx_Tensor:$B), (outs Onnx_Tensor:$C)> {
  let summary = "Gelu by the error function of A + B, B a vector";
}
def Onnx_MsFastGeluOp
    : Onnx_Op<"ms.FastGelu", (ins Onnx_Tensor:$X, Optional<Onnx_Tensor>:$bias), (outs Onnx_Tensor:$Y)> {
  let summary = "Gelu by the hyperbolic tangent of X + bias, bias a vector";
}

#endif
