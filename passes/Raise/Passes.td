// Passes of the phase `raised`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RAISE_PASSES_TD
#define FARSKIP_PASSES_RAISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertOnnxToLinalgPass : Pass<"convert-onnx-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "lower ONNX operators to linalg, tensor, scf and arith";
  let description = [{
    Expects a function of `onnx` operations over tensors. Runs the symbolic shape analysis, then lowers each operation in
    order. Shape arithmetic (Shape, Gather, Concat, … on small integer tensors) disappears where its result is known as
    an expression over the extents of the inputs. Conditions that only the data can break (an index out of range, extents
    that do not broadcast) become `rt.check`.

    ```mlir
    %y = onnx.Add %a, %b : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    // becomes
    %y = linalg.generic … ins(%a, %b) outs(%e) { arith.addf }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::farskip::moe::MoeDialect",
                           "::farskip::rt::RtDialect"];
}

#endif
