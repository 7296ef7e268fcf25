// RUN: %farskip-opt %s --split-input-file --convert-onnx-to-linalg --canonicalize | FileCheck %s

// Rank 3 is read as it stands, rows before heads; extents that may differ are checked.
// CHECK-LABEL: func @flat
// CHECK: rt.check %{{.*}}, "Attention: the batch of K is {0}, wanted {1}"
// CHECK: moe.attention {{.*}} {causal, kv_rows_first,
// CHECK-SAME: q_rows_first
func.func @flat(%q: tensor<?x?x32xf32> {onnx.dims = ["b", "s", ""]}, %k: tensor<?x?x16xf32> {onnx.dims = ["c", "t", ""]},
                %v: tensor<?x?x16xf32> {onnx.dims = ["c", "t", ""]}) -> tensor<?x?x32xf32> {
  %y, %pk, %pv, %qk = onnx.Attention %q, %k, %v
      {q_num_heads = 4 : i64, kv_num_heads = 2 : i64, is_causal = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<?x?x32xf32>, tensor<?x?x16xf32>, tensor<?x?x16xf32>)
      -> (tensor<?x?x32xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x4x?x?xf32>)
  return %y : tensor<?x?x32xf32>
}

// -----

// A packed query is read through views; without a past the new rows are the cache.
// CHECK-LABEL: func @packed
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0, 0]
// CHECK: rt.check %{{.*}}, "ms.GroupQueryAttention: sequence {0} has {1} tokens, the cache holds {2}"
// CHECK: moe.attention {{.*}}left = 2 : i64
func.func @packed(%q: tensor<2x3x64xf32>, %lengths: tensor<2xi32>, %total: tensor<i32>) -> tensor<2x3x32xf32> {
  %y, %pk, %pv, %qk = onnx.ms.GroupQueryAttention %q, %lengths, %total
      {num_heads = 4 : i64, kv_num_heads = 2 : i64, local_window_size = 3 : i64,
       operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
      : (tensor<2x3x64xf32>, tensor<2xi32>, tensor<i32>)
      -> (tensor<2x3x32xf32>, tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>, tensor<2x4x3x?xf32>)
  return %y : tensor<2x3x32xf32>
}
