// Constants and weights.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXCONSTANT_TD
#define FARSKIP_DIALECTS_ONNX_ONNXCONSTANT_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_ConstantOp : Onnx_Op<"Constant", (ins Onnx_OptionalTensor:$value), (outs Onnx_Tensor:$output)> {
  let summary = "ONNX Constant-13, in the one form `value`; also small initializers";
}

def Onnx_WeightOp : Op<Onnx_Dialect, "weight", [Pure, DeclareOpInterfaceMethods<SymbolicShapeOpInterface>]> {
  let summary = "an initializer that stays in its file";
  let description = [{
    The bytes `[offset, offset + length)` of `file`, in row-major order and little-endian, one byte per bool. `path` is
    the file's name for the reader of the IR; the compiler that imported the model holds the checked descriptor under
    the number `file`.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$file, I64Attr:$offset, I64Attr:$length);
  let results = (outs Onnx_Tensor:$output);
  let assemblyFormat = "$name `at` $file `[` $offset `,` $length `]` attr-dict `:` type($output)";
}

#endif
