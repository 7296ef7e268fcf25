// RUN: %farskip-opt %s --convert-onnx-to-linalg --canonicalize | FileCheck %s

// Numbers of four bits stay packed in the weights file and take a byte each when they are read.
// CHECK-LABEL: func @int4
// CHECK: onnx.weight "w" at 0[0, 2048] : tensor<2048xi8>
// CHECK: arith.shrsi {{.*}} : i8
// CHECK: arith.sitofp
func.func @int4(%s: tensor<f32>) -> tensor<64x64xf32> {
  %w = onnx.weight "w" at 0 [0, 2048] : tensor<64x64xi4>
  %0 = onnx.DequantizeLinear %w, %s : (tensor<64x64xi4>, tensor<f32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
