// RUN: not %farskip-opt %s --connect-farskip=layers=all 2>&1 | FileCheck %s
// RUN: %farskip-opt %s --connect-farskip=layers=none | FileCheck %s --check-prefix=NONE

// CHECK: error: no residual stream: no chain of additions runs through the model; --farskip=all cannot be applied
// NONE-NOT: farskip.layers
func.func @main(%x: tensor<?x8xf32> {onnx.dims = ["n", ""]}, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %0 = onnx.MatMul %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %1 = onnx.Sigmoid %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
