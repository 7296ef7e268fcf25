// RUN: %farskip-opt %s --bind-program | FileCheck %s

// Two uses of the same bytes are one weight; offsets are multiples of 64 behind the header.
// CHECK: module attributes {rt.weights = array<i64: 0, 100, 64, 64, 64, 0, 0, 0, 0, 0, 0, 200, 16, 128, 16, 0, 0, 0, 0, 0>}
// CHECK-LABEL: func @farskip_model_run()
// CHECK-DAG: rt.weight 64 : memref<16xf32>
// CHECK-DAG: rt.weight 128 : memref<4xf32>
// CHECK: rt.output 0, %{{.*}} : memref<?xf32>
func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<16xf32>, tensor<16xf32>, tensor<4xf32>) {
  %a = onnx.weight "a" at 0[100, 64] : tensor<16xf32>
  %b = onnx.weight "b" at 0[100, 64] : tensor<16xf32>
  %c = onnx.weight "c" at 0[200, 16] : tensor<4xf32>
  return %x, %a, %b, %c : tensor<?xf32>, tensor<16xf32>, tensor<16xf32>, tensor<4xf32>
}
