// Reductions, softmax, running sums and Gemm.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXREDUCE_TD
#define FARSKIP_DIALECTS_ONNX_ONNXREDUCE_TD

include "dialects/Onnx/OnnxBase.td"

class Onnx_Reduce<string mnemonic, string text>
    : Onnx_Op<mnemonic, (ins Onnx_Tensor:$data, Optional<Onnx_Tensor>:$axes, Onnx_Int<1>:$keepdims, Onnx_Int<0>:$noop_with_empty_axes), (outs Onnx_Tensor:$reduced)> {
  let summary = text;
}
def Onnx_ReduceSumOp : Onnx_Reduce<"ReduceSum", "ONNX ReduceSum-13; narrow floats are summed in f32">;
def Onnx_ReduceMeanOp : Onnx_Reduce<"ReduceMean", "ONNX ReduceMean-18">;
def Onnx_ReduceMaxOp : Onnx_Reduce<"ReduceMax", "ONNX ReduceMax-20">;
def Onnx_ReduceMinOp : Onnx_Reduce<"ReduceMin", "ONNX ReduceMin-20">;
def Onnx_ReduceProdOp : Onnx_Reduce<"ReduceProd", "ONNX ReduceProd-18">;
def Onnx_ReduceL1Op : Onnx_Reduce<"ReduceL1", "ONNX ReduceL1-18">;
def Onnx_ReduceL2Op : Onnx_Reduce<"ReduceL2", "ONNX ReduceL2-18">;
def Onnx_ReduceSumSquareOp : Onnx_Reduce<"ReduceSumSquare", "ONNX ReduceSumSquare-18">;
def Onnx_ReduceLogSumOp : Onnx_Reduce<"ReduceLogSum", "ONNX ReduceLogSum-28, floats">;
def Onnx_ReduceLogSumExpOp : Onnx_Reduce<"ReduceLogSumExp", "ONNX ReduceLogSumExp-28, floats; relative to the greatest element">;

def Onnx_SoftmaxOp : Onnx_Op<"Softmax", (ins Onnx_Tensor:$input, Onnx_Int<-1>:$axis), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Softmax-13";
}
def Onnx_LogSoftmaxOp : Onnx_Op<"LogSoftmax", (ins Onnx_Tensor:$input, Onnx_Int<-1>:$axis), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX LogSoftmax-13";
}
def Onnx_CumSumOp : Onnx_Op<"CumSum", (ins Onnx_Tensor:$x, Onnx_Tensor:$axis, Onnx_Int<0>:$exclusive, Onnx_Int<0>:$reverse), (outs Onnx_Tensor:$y)> {
  let summary = "ONNX CumSum-14";
}
def Onnx_GemmOp : Onnx_Op<"Gemm", (ins Onnx_Tensor:$A, Onnx_Tensor:$B, Optional<Onnx_Tensor>:$C, Onnx_Float<"1.0f">:$alpha, Onnx_Float<"1.0f">:$beta, Onnx_Int<0>:$transA, Onnx_Int<0>:$transB), (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX Gemm-13";
}

#endif
