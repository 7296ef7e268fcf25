// Elementwise operators with numpy broadcasting.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXELEMENTWISE_TD
#define FARSKIP_DIALECTS_ONNX_ONNXELEMENTWISE_TD

include "dialects/Onnx/OnnxBase.td"

class Onnx_Binary<string mnemonic> : Onnx_Op<mnemonic, (ins Onnx_Tensor:$A, Onnx_Tensor:$B), (outs Onnx_Tensor:$C)>;
class Onnx_Unary<string mnemonic> : Onnx_Op<mnemonic, (ins Onnx_Tensor:$X), (outs Onnx_Tensor:$Y)>;

def Onnx_AddOp : Onnx_Binary<"Add"> { let summary = "ONNX Add-14"; }
def Onnx_SubOp : Onnx_Binary<"Sub"> { let summary = "ONNX Sub-14"; }
def Onnx_MulOp : Onnx_Binary<"Mul"> { let summary = "ONNX Mul-14"; }
def Onnx_SigmoidOp : Onnx_Unary<"Sigmoid"> { let summary = "ONNX Sigmoid-13"; }

#endif
