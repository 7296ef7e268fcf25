// Activation functions and the functions of trigonometry.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXACTIVATION_TD
#define FARSKIP_DIALECTS_ONNX_ONNXACTIVATION_TD

include "dialects/Onnx/OnnxElementwise.td"

def Onnx_EluOp : Onnx_Op<"Elu", (ins Onnx_Tensor:$X, Onnx_Float<"1.0f">:$alpha), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX Elu-22";
}
def Onnx_CeluOp : Onnx_Op<"Celu", (ins Onnx_Tensor:$X, Onnx_Float<"1.0f">:$alpha), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX Celu-28";
}
def Onnx_SeluOp : Onnx_Op<"Selu", (ins Onnx_Tensor:$X, Onnx_Float<"1.67326319217681884765625f">:$alpha, Onnx_Float<"1.05070102214813232421875f">:$gamma), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX Selu-22";
}
def Onnx_MishOp : Onnx_Unary<"Mish", "ONNX Mish-22: x · tanh(softplus(x))">;
def Onnx_HardSigmoidOp : Onnx_Op<"HardSigmoid", (ins Onnx_Tensor:$X, Onnx_Float<"0.2f">:$alpha, Onnx_Float<"0.5f">:$beta), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX HardSigmoid-22";
}
def Onnx_HardSwishOp : Onnx_Unary<"HardSwish", "ONNX HardSwish-22">;
def Onnx_LeakyReluOp : Onnx_Op<"LeakyRelu", (ins Onnx_Tensor:$X, Onnx_Float<"0.01f">:$alpha), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX LeakyRelu-16";
}
def Onnx_PReluOp : Onnx_Op<"PRelu", (ins Onnx_Tensor:$X, Onnx_Tensor:$slope), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX PRelu-16; the slope is broadcast to the input";
}
def Onnx_SoftsignOp : Onnx_Unary<"Softsign", "ONNX Softsign-22">;
def Onnx_ThresholdedReluOp : Onnx_Op<"ThresholdedRelu", (ins Onnx_Tensor:$X, Onnx_Float<"1.0f">:$alpha), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX ThresholdedRelu-22";
}
def Onnx_ShrinkOp : Onnx_Op<"Shrink", (ins Onnx_Tensor:$input, Onnx_Float<"0.5f">:$lambd, Onnx_Float<"0.0f">:$bias), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Shrink-9";
}
def Onnx_SwiGLUOp : Onnx_Op<"SwiGLU", (ins Onnx_Tensor:$A, Onnx_Tensor:$B, Onnx_Float<"1.0f">:$alpha), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX SwiGLU-28: A · sigmoid(alpha · A) · B, of equal shapes";
}
def Onnx_TanOp : Onnx_Unary<"Tan", "ONNX Tan-22">;
def Onnx_AsinOp : Onnx_Unary<"Asin", "ONNX Asin-22">;
def Onnx_AcosOp : Onnx_Unary<"Acos", "ONNX Acos-22">;
def Onnx_AtanOp : Onnx_Unary<"Atan", "ONNX Atan-22">;
def Onnx_SinhOp : Onnx_Unary<"Sinh", "ONNX Sinh-22">;
def Onnx_CoshOp : Onnx_Unary<"Cosh", "ONNX Cosh-22">;
def Onnx_AsinhOp : Onnx_Unary<"Asinh", "ONNX Asinh-22">;
def Onnx_AcoshOp : Onnx_Unary<"Acosh", "ONNX Acosh-22">;
def Onnx_AtanhOp : Onnx_Unary<"Atanh", "ONNX Atanh-22">;

#endif
