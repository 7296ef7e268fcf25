// RUN: %farskip-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

func.func @columns(%x: tensor<3x32xf32>, %r: tensor<3x4xf32>, %w: tensor<4x8x32xui8>, %s: tensor<4x8xf32>) -> tensor<3x32xf32> {
  // expected-error @+1 {{the weights of fc1 have 64 columns for rows of 32}}
  %0 = onnx.ms.QMoE %x, %r, %w, %s, %w, %s
      {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
      : (tensor<3x32xf32>, tensor<3x4xf32>, tensor<4x8x32xui8>, tensor<4x8xf32>, tensor<4x8x32xui8>, tensor<4x8xf32>)
      -> tensor<3x32xf32>
  return %0 : tensor<3x32xf32>
}
