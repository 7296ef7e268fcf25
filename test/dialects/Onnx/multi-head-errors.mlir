// RUN: %farskip-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

func.func @no_key(%q: tensor<2x3x32xf32>) -> tensor<2x3x32xf32> {
  // expected-error @+1 {{query has rank 3 and there is no key, wanted rank 3 with a key or rank 5 without}}
  %y, %pk, %pv, %qk = onnx.ms.MultiHeadAttention %q
      {num_heads = 4 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
      : (tensor<2x3x32xf32>) -> (tensor<2x3x32xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x3xf32>)
  return %y : tensor<2x3x32xf32>
}

// -----

func.func @batch_axis(%c: tensor<5x1x4x1xf32>, %u: tensor<5x1x1x1xf32>) -> tensor<5x1x4x1xf32> {
  // expected-error @+1 {{axis 0 is the batch}}
  %0 = onnx.TensorScatter %c, %u {axis = 0 : i64} : (tensor<5x1x4x1xf32>, tensor<5x1x1x1xf32>) -> tensor<5x1x4x1xf32>
  return %0 : tensor<5x1x4x1xf32>
}
