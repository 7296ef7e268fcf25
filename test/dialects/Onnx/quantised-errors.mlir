// RUN: %farskip-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

func.func @weights(%a: tensor<2x40xf32>, %b: tensor<8x1x16xui8>, %s: tensor<8x2xf32>) -> tensor<2x8xf32> {
  // expected-error @+1 {{B has shape [8, 1, 16], wanted 256 elements}}
  %0 = onnx.ms.MatMulNBits %a, %b, %s
      {K = 40 : i64, N = 8 : i64, block_size = 32 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
      : (tensor<2x40xf32>, tensor<8x1x16xui8>, tensor<8x2xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// -----

func.func @table(%t: tensor<10x32xui8>, %i: tensor<3xi64>, %s: tensor<10x1xf32>) -> tensor<3x64xf32> {
  // expected-error @+1 {{scales have shape [10, 1] for data of [10, 64], axis 1 and block_size 32}}
  %0 = onnx.ms.GatherBlockQuantized %t, %i, %s {block_size = 32 : i64}
      : (tensor<10x32xui8>, tensor<3xi64>, tensor<10x1xf32>) -> tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}

// -----

func.func @blocks(%x: tensor<8x32xi4>, %s: tensor<8x2xf32>) -> tensor<8x32xf32> {
  // expected-error @+1 {{scale of shape [8, 2] does not fit x of shape [8, 32], axis 0 and block_size 16}}
  %0 = onnx.DequantizeLinear %x, %s {axis = 0 : i64, block_size = 16 : i64}
      : (tensor<8x32xi4>, tensor<8x2xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
