// RUN: %farskip-opt %s --convert-onnx-to-linalg | FileCheck %s

// An input loses its sign in its lowered type, not in its meaning.
// CHECK-LABEL: func @main(%arg0: tensor<4xi8>
// CHECK: arith.uitofp
func.func @main(%x: tensor<4xui8>) -> tensor<4xf32> {
  %0 = onnx.Cast %x {to = 1 : i64} : (tensor<4xui8>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
