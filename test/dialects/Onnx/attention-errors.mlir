// RUN: %farskip-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

func.func @heads(%q: tensor<2x3x30xf32>) -> tensor<2x3x30xf32> {
  // expected-error @+1 {{Q has width 30, which 4 heads do not divide}}
  %y, %pk, %pv, %qk = onnx.Attention %q, %q, %q
      {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<2x3x30xf32>, tensor<2x3x30xf32>, tensor<2x3x30xf32>)
      -> (tensor<2x3x30xf32>, tensor<2x4x3x?xf32>, tensor<2x4x3x?xf32>, tensor<2x4x3x3xf32>)
  return %y : tensor<2x3x30xf32>
}

// -----

func.func @groups(%q: tensor<2x3x32xf32>, %n: tensor<2xi32>, %t: tensor<i32>) -> tensor<2x3x32xf32> {
  // expected-error @+1 {{kv_num_heads 3 does not divide num_heads 4}}
  %y, %pk, %pv, %qk = onnx.ms.GroupQueryAttention %q, %n, %t
      {num_heads = 4 : i64, kv_num_heads = 3 : i64,
       operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
      : (tensor<2x3x32xf32>, tensor<2xi32>, tensor<i32>)
      -> (tensor<2x3x32xf32>, tensor<2x3x?x8xf32>, tensor<2x3x?x8xf32>, tensor<2x4x3x?xf32>)
  return %y : tensor<2x3x32xf32>
}
