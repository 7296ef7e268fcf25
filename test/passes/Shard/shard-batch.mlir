// RUN: farskip-opt %s --split-input-file --shard-batch="ranks=2" | FileCheck %s

// The batch goes through an embedding, a flattening of tokens and experts, and a product of queries and keys.
// CHECK-LABEL: func @main
// CHECK-SAME: %arg0: tensor<?x?xi64> {farskip.shard_axis = 0 : i64
// CHECK-SAME: -> (tensor<?x?x?xf32> {farskip.shard_axis = 0 : i64})
func.func @main(%ids: tensor<?x?xi64> {onnx.dims = ["b", "s"]}, %table: tensor<10x4xf32>, %w: tensor<4x3xf32>, %p: tensor<3x4xf32>) -> tensor<?x?x?xf32> {
  %x = "onnx.Gather"(%table, %ids) {axis = 0 : i64} : (tensor<10x4xf32>, tensor<?x?xi64>) -> tensor<?x?x4xf32>
  %shape = "onnx.Constant"() {value = dense<[-1, 4]> : tensor<2xi64>} : () -> tensor<2xi64>
  %k = "onnx.Constant"() {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %t = "onnx.Reshape"(%x, %shape) : (tensor<?x?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %l = "onnx.MatMul"(%t, %w) : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %v, %e = "onnx.TopK"(%l, %k) : (tensor<?x3xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %y = moe.experts %t, %v, %e params(%p)
      : (tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xi64>, tensor<3x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%rows: tensor<?x4xf32>, %b: tensor<4xf32>):
    %z = "onnx.Add"(%rows, %b) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    moe.yield %z : tensor<?x4xf32>
  }
  %whole = "onnx.Shape"(%x) : (tensor<?x?x4xf32>) -> tensor<3xi64>
  %back = "onnx.Reshape"(%y, %whole) : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
  %keys = "onnx.Transpose"(%back) {perm = array<i64: 0, 2, 1>} : (tensor<?x?x4xf32>) -> tensor<?x4x?xf32>
  %scores = "onnx.MatMul"(%back, %keys) : (tensor<?x?x4xf32>, tensor<?x4x?xf32>) -> tensor<?x?x?xf32>
  return %scores : tensor<?x?x?xf32>
}

// -----

// The mask's batch has a symbol of its own and is indexed by positions that count along the batch; it becomes the same.
// CHECK-LABEL: func @main
// CHECK-SAME: %arg0: tensor<?x?xf32> {farskip.shard_axis = 0 : i64
// CHECK-SAME: %arg1: tensor<?x?xi1> {farskip.shard_axis = 0 : i64, onnx.dims = ["b", "t"]}
func.func @main(%x: tensor<?x?xf32> {onnx.dims = ["b", "s"]}, %mask: tensor<?x?xi1> {onnx.dims = ["m", "t"]}) -> tensor<?x?xf32> {
  %zero = "onnx.Constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one = "onnx.Constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %first = "onnx.Constant"() {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = "onnx.Constant"() {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %size = "onnx.Shape"(%x) : (tensor<?x?xf32>) -> tensor<2xi64>
  %b = "onnx.Gather"(%size, %zero) {axis = 0 : i64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %rows = "onnx.Range"(%zero, %b, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %column = "onnx.Unsqueeze"(%rows, %last) : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %zeros = "onnx.Mul"(%column, %zero) : (tensor<?x1xi64>, tensor<i64>) -> tensor<?x1xi64>
  %tuples = "onnx.Concat"(%column, %zeros) {axis = 1 : i64} : (tensor<?x1xi64>, tensor<?x1xi64>) -> tensor<?x2xi64>
  %kept = "onnx.GatherND"(%mask, %tuples) : (tensor<?x?xi1>, tensor<?x2xi64>) -> tensor<?xi1>
  %wide = "onnx.Unsqueeze"(%kept, %last) : (tensor<?xi1>, tensor<1xi64>) -> tensor<?x1xi1>
  %none = "onnx.Constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %y = "onnx.Where"(%wide, %x, %none) : (tensor<?x1xi1>, tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
