// Operators that pick and place elements by index.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXINDEXING_TD
#define FARSKIP_DIALECTS_ONNX_ONNXINDEXING_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_GatherOp : Onnx_Op<"Gather", (ins Onnx_Tensor:$data, Onnx_Tensor:$indices, Onnx_Int<0>:$axis), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Gather-13; an index out of range ends the run";
}
def Onnx_GatherElementsOp : Onnx_Op<"GatherElements", (ins Onnx_Tensor:$data, Onnx_Tensor:$indices, Onnx_Int<0>:$axis), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX GatherElements-13";
}
def Onnx_GatherNDOp : Onnx_Op<"GatherND", (ins Onnx_Tensor:$data, Onnx_Tensor:$indices, Onnx_Int<0>:$batch_dims), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX GatherND-13";
}
def Onnx_ScatterElementsOp : Onnx_Op<"ScatterElements", (ins Onnx_Tensor:$data, Onnx_Tensor:$indices, Onnx_Tensor:$updates, Onnx_Int<0>:$axis, Onnx_Str<"none">:$reduction), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX ScatterElements-18; without reduction the last of equal indices, in row-major order, stays";
}
def Onnx_ScatterNDOp : Onnx_Op<"ScatterND", (ins Onnx_Tensor:$data, Onnx_Tensor:$indices, Onnx_Tensor:$updates, Onnx_Str<"none">:$reduction), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX ScatterND-18";
}
def Onnx_TopKOp : Onnx_Op<"TopK", (ins Onnx_Tensor:$X, Onnx_Tensor:$K, Onnx_Int<-1>:$axis, Onnx_Int<1>:$largest, Onnx_Int<1>:$sorted), (outs Onnx_Tensor:$Values, Onnx_Tensor:$Indices)> {
  let summary = "ONNX TopK-24; of equal values the lower index comes first, NaN counts as greatest";
}
def Onnx_ArgMaxOp : Onnx_Op<"ArgMax", (ins Onnx_Tensor:$data, Onnx_Int<0>:$axis, Onnx_Int<1>:$keepdims, Onnx_Int<0>:$select_last_index), (outs Onnx_Tensor:$reduced)> {
  let summary = "ONNX ArgMax-13";
}
def Onnx_ArgMinOp : Onnx_Op<"ArgMin", (ins Onnx_Tensor:$data, Onnx_Int<0>:$axis, Onnx_Int<1>:$keepdims, Onnx_Int<0>:$select_last_index), (outs Onnx_Tensor:$reduced)> {
  let summary = "ONNX ArgMin-13";
}
def Onnx_NonZeroOp : Onnx_Op<"NonZero", (ins Onnx_Tensor:$X), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX NonZero-13; the number of columns is known at run time";
}
def Onnx_OneHotOp : Onnx_Op<"OneHot", (ins Onnx_Tensor:$indices, Onnx_Tensor:$depth, Onnx_Tensor:$values, Onnx_Int<-1>:$axis), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX OneHot-11";
}

#endif
