// Operators on the bits of integers.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXBITWISE_TD
#define FARSKIP_DIALECTS_ONNX_ONNXBITWISE_TD

include "dialects/Onnx/OnnxElementwise.td"

def Onnx_BitwiseAndOp : Onnx_Binary<"BitwiseAnd", "ONNX BitwiseAnd-18">;
def Onnx_BitwiseOrOp : Onnx_Binary<"BitwiseOr", "ONNX BitwiseOr-18">;
def Onnx_BitwiseXorOp : Onnx_Binary<"BitwiseXor", "ONNX BitwiseXor-18">;
def Onnx_BitwiseNotOp : Onnx_Unary<"BitwiseNot", "ONNX BitwiseNot-18">;
def Onnx_BitShiftOp : Onnx_Op<"BitShift", (ins Onnx_Tensor:$X, Onnx_Tensor:$Y, Onnx_RequiredStr:$direction), (outs Onnx_Tensor:$Z)> {
  let summary = "ONNX BitShift-28; a shift by the width or more, or by a negative number, leaves the sign alone";
}
def Onnx_BitCastOp : Onnx_Op<"BitCast", (ins Onnx_Tensor:$input, Onnx_RequiredInt:$to), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX BitCast-26; the same bits as another type of the same width";
}

#endif
