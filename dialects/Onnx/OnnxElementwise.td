// Elementwise operators with numpy broadcasting.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXELEMENTWISE_TD
#define FARSKIP_DIALECTS_ONNX_ONNXELEMENTWISE_TD

include "dialects/Onnx/OnnxBase.td"

class Onnx_Binary<string mnemonic, string text> : Onnx_Op<mnemonic, (ins Onnx_Tensor:$A, Onnx_Tensor:$B), (outs Onnx_Tensor:$C)> {
  let summary = text;
}
class Onnx_Unary<string mnemonic, string text> : Onnx_Op<mnemonic, (ins Onnx_Tensor:$X), (outs Onnx_Tensor:$Y)> {
  let summary = text;
}
class Onnx_Variadic<string mnemonic, string text> : Onnx_Op<mnemonic, (ins Variadic<Onnx_Tensor>:$data), (outs Onnx_Tensor:$result)> {
  let summary = text;
}

def Onnx_AddOp : Onnx_Binary<"Add", "ONNX Add-14">;
def Onnx_SubOp : Onnx_Binary<"Sub", "ONNX Sub-14">;
def Onnx_MulOp : Onnx_Binary<"Mul", "ONNX Mul-14">;
def Onnx_DivOp : Onnx_Binary<"Div", "ONNX Div-14; an integer division by zero ends the run">;
def Onnx_PowOp : Onnx_Binary<"Pow", "ONNX Pow-15; the result has the base's type">;
def Onnx_EqualOp : Onnx_Binary<"Equal", "ONNX Equal-19">;
def Onnx_GreaterOp : Onnx_Binary<"Greater", "ONNX Greater-13">;
def Onnx_LessOp : Onnx_Binary<"Less", "ONNX Less-13">;
def Onnx_GreaterOrEqualOp : Onnx_Binary<"GreaterOrEqual", "ONNX GreaterOrEqual-16">;
def Onnx_LessOrEqualOp : Onnx_Binary<"LessOrEqual", "ONNX LessOrEqual-16">;
def Onnx_AndOp : Onnx_Binary<"And", "ONNX And-7">;
def Onnx_OrOp : Onnx_Binary<"Or", "ONNX Or-7">;
def Onnx_XorOp : Onnx_Binary<"Xor", "ONNX Xor-7">;
def Onnx_MaxOp : Onnx_Variadic<"Max", "ONNX Max-13; NaN wins">;
def Onnx_MinOp : Onnx_Variadic<"Min", "ONNX Min-13; NaN wins">;

def Onnx_SumOp : Onnx_Variadic<"Sum", "ONNX Sum-13">;
def Onnx_MeanOp : Onnx_Variadic<"Mean", "ONNX Mean-13">;

def Onnx_ModOp : Onnx_Op<"Mod", (ins Onnx_Tensor:$A, Onnx_Tensor:$B, Onnx_Int<0>:$fmod), (outs Onnx_Tensor:$C)> {
  let summary = "ONNX Mod-13; the sign of the divisor, with fmod that of the dividend; an integer by zero ends the run";
}

def Onnx_AbsOp : Onnx_Unary<"Abs", "ONNX Abs-13">;
def Onnx_CeilOp : Onnx_Unary<"Ceil", "ONNX Ceil-13">;
def Onnx_CosOp : Onnx_Unary<"Cos", "ONNX Cos-22">;
def Onnx_ErfOp : Onnx_Unary<"Erf", "ONNX Erf-13">;
def Onnx_ExpOp : Onnx_Unary<"Exp", "ONNX Exp-13">;
def Onnx_FloorOp : Onnx_Unary<"Floor", "ONNX Floor-13">;
def Onnx_IdentityOp : Onnx_Unary<"Identity", "ONNX Identity-25">;
def Onnx_IsNaNOp : Onnx_Unary<"IsNaN", "ONNX IsNaN-20">;
def Onnx_IsInfOp : Onnx_Op<"IsInf", (ins Onnx_Tensor:$X, Onnx_Int<1>:$detect_negative, Onnx_Int<1>:$detect_positive), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX IsInf-20";
}
def Onnx_LogOp : Onnx_Unary<"Log", "ONNX Log-13">;
def Onnx_NegOp : Onnx_Unary<"Neg", "ONNX Neg-13">;
def Onnx_NotOp : Onnx_Unary<"Not", "ONNX Not-1">;
def Onnx_ReciprocalOp : Onnx_Unary<"Reciprocal", "ONNX Reciprocal-13">;
def Onnx_ReluOp : Onnx_Unary<"Relu", "ONNX Relu-14">;
def Onnx_RoundOp : Onnx_Unary<"Round", "ONNX Round-22; halves to even">;
def Onnx_SigmoidOp : Onnx_Unary<"Sigmoid", "ONNX Sigmoid-13">;
def Onnx_SignOp : Onnx_Unary<"Sign", "ONNX Sign-13">;
def Onnx_SinOp : Onnx_Unary<"Sin", "ONNX Sin-22">;
def Onnx_SoftplusOp : Onnx_Unary<"Softplus", "ONNX Softplus-22">;
def Onnx_SqrtOp : Onnx_Unary<"Sqrt", "ONNX Sqrt-13">;
def Onnx_TanhOp : Onnx_Unary<"Tanh", "ONNX Tanh-13">;

def Onnx_GeluOp : Onnx_Op<"Gelu", (ins Onnx_Tensor:$X, Onnx_Str<"none">:$approximate), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX Gelu-20";
}
def Onnx_SwishOp : Onnx_Op<"Swish", (ins Onnx_Tensor:$X, Onnx_Float<"1.0f">:$alpha), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX Swish-24";
}
def Onnx_MsQuickGeluOp : Onnx_Op<"ms.QuickGelu", (ins Onnx_Tensor:$X, Onnx_Float<"1.702f">:$alpha), (outs Onnx_Tensor:$Y)> {
  let summary = "x · sigmoid(alpha · x)";
}
def Onnx_MsGatedAddOp : Onnx_Op<"ms.GatedAdd", (ins Onnx_Tensor:$A, Onnx_Tensor:$B, Onnx_Tensor:$gate), (outs Onnx_Tensor:$C)> {
  let summary = "A + gate · B";
}
def Onnx_ClipOp : Onnx_Op<"Clip", (ins Onnx_Tensor:$input, Optional<Onnx_Tensor>:$min, Optional<Onnx_Tensor>:$max), (outs Onnx_Tensor:$output), [AttrSizedOperandSegments]> {
  let summary = "ONNX Clip-13";
}
def Onnx_CastOp : Onnx_Op<"Cast", (ins Onnx_Tensor:$input, Onnx_RequiredInt:$to, Onnx_Int<1>:$saturate, Onnx_Str<"up">:$round_mode), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Cast-25; floats out of an integer's range saturate, NaN is 0";
}
def Onnx_CastLikeOp : Onnx_Op<"CastLike", (ins Onnx_Tensor:$input, Onnx_Tensor:$target_type, Onnx_Int<1>:$saturate, Onnx_Str<"up">:$round_mode), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX CastLike-25";
}
def Onnx_WhereOp : Onnx_Op<"Where", (ins Onnx_Tensor:$condition, Onnx_Tensor:$X, Onnx_Tensor:$Y), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Where-16";
}

#endif
