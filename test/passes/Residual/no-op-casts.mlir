// RUN: %farskip-opt %s --connect-farskip | FileCheck %s

// Exporters leave casts to the same type on the residual stream.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[SUM:.*]] = onnx.Add %[[X]], %[[X]]
// CHECK-NEXT: %[[HALF:.*]] = onnx.Cast %[[SUM]] {{.*}}: (tensor<4x8xf32>) -> tensor<4x8xf16>
// CHECK-NEXT: return %[[SUM]], %[[HALF]]
func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf16>) {
  %0 = onnx.Cast %x {to = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = onnx.Add %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = onnx.Cast %1 {to = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = onnx.Cast %2 {to = 10 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf16>
  return %2, %3 : tensor<4x8xf32>, tensor<4x8xf16>
}
