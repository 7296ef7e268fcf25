// Operators that move or reshape data.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXLAYOUT_TD
#define FARSKIP_DIALECTS_ONNX_ONNXLAYOUT_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_ReshapeOp : Onnx_Op<"Reshape", (ins Onnx_Tensor:$data, Onnx_Tensor:$shape, Onnx_Int<0>:$allowzero), (outs Onnx_Tensor:$reshaped)> {
  let summary = "ONNX Reshape-25";
}
def Onnx_TransposeOp : Onnx_Op<"Transpose", (ins Onnx_Tensor:$data, Onnx_OptionalInts:$perm), (outs Onnx_Tensor:$transposed)> {
  let summary = "ONNX Transpose-25";
}
def Onnx_ConcatOp : Onnx_Op<"Concat", (ins Variadic<Onnx_Tensor>:$inputs, Onnx_RequiredInt:$axis), (outs Onnx_Tensor:$concat_result)> {
  let summary = "ONNX Concat-13";
}
def Onnx_SliceOp : Onnx_Op<"Slice", (ins Onnx_Tensor:$data, Onnx_Tensor:$starts, Onnx_Tensor:$ends, Optional<Onnx_Tensor>:$axes, Optional<Onnx_Tensor>:$steps), (outs Onnx_Tensor:$output), [AttrSizedOperandSegments]> {
  let summary = "ONNX Slice-13";
}
def Onnx_SplitOp : Onnx_Op<"Split", (ins Onnx_Tensor:$input, Optional<Onnx_Tensor>:$split, Onnx_Int<0>:$axis, Onnx_OptionalInt:$num_outputs), (outs Variadic<Onnx_Tensor>:$outputs)> {
  let summary = "ONNX Split-18";
}
def Onnx_SqueezeOp : Onnx_Op<"Squeeze", (ins Onnx_Tensor:$data, Optional<Onnx_Tensor>:$axes), (outs Onnx_Tensor:$squeezed)> {
  let summary = "ONNX Squeeze-25";
}
def Onnx_UnsqueezeOp : Onnx_Op<"Unsqueeze", (ins Onnx_Tensor:$data, Onnx_Tensor:$axes), (outs Onnx_Tensor:$expanded)> {
  let summary = "ONNX Unsqueeze-25";
}
def Onnx_FlattenOp : Onnx_Op<"Flatten", (ins Onnx_Tensor:$input, Onnx_Int<1>:$axis), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Flatten-25";
}
def Onnx_ExpandOp : Onnx_Op<"Expand", (ins Onnx_Tensor:$input, Onnx_Tensor:$shape), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Expand-13";
}
def Onnx_TileOp : Onnx_Op<"Tile", (ins Onnx_Tensor:$input, Onnx_Tensor:$repeats), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Tile-13";
}
def Onnx_ShapeOp : Onnx_Op<"Shape", (ins Onnx_Tensor:$data, Onnx_Int<0>:$start, Onnx_OptionalInt:$end), (outs Onnx_Tensor:$shape)> {
  let summary = "ONNX Shape-25";
}
def Onnx_SizeOp : Onnx_Op<"Size", (ins Onnx_Tensor:$data), (outs Onnx_Tensor:$size)> {
  let summary = "ONNX Size-25";
}
def Onnx_ConstantOfShapeOp : Onnx_Op<"ConstantOfShape", (ins Onnx_Tensor:$input, Onnx_OptionalTensor:$value), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX ConstantOfShape-25";
}
def Onnx_RangeOp : Onnx_Op<"Range", (ins Onnx_Tensor:$start, Onnx_Tensor:$limit, Onnx_Tensor:$delta, Onnx_Int<1>:$stash_type), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Range-27; narrow floats are computed in f32";
}
def Onnx_TriluOp : Onnx_Op<"Trilu", (ins Onnx_Tensor:$input, Optional<Onnx_Tensor>:$k, Onnx_Int<1>:$upper), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Trilu-14";
}

#endif
