// RUN: farskip-opt %s --shard-batch="ranks=2" | FileCheck %s

// Tokens of one expert are listed, computed and added back to their own places: no sequence meets another.
// CHECK-LABEL: func @main
// CHECK-SAME: %arg0: tensor<?x4xf32> {farskip.shard_axis = 0 : i64
// CHECK-SAME: -> (tensor<?x4xf32> {farskip.shard_axis = 0 : i64})
func.func @main(%x: tensor<?x4xf32> {onnx.dims = ["tokens", ""]}, %gate: tensor<4xf32>, %w: tensor<4x4xf32>) -> tensor<?x4xf32> {
  %zero = "onnx.Constant"() {value = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %none = "onnx.Constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %last = "onnx.Constant"() {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %scaled = "onnx.Mul"(%x, %gate) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %score = "onnx.ReduceSum"(%scaled, %last) {keepdims = 0 : i64} : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<?xf32>
  %mask = "onnx.Greater"(%score, %none) : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
  %places = "onnx.NonZero"(%mask) : (tensor<?xi1>) -> tensor<1x?xi64>
  %tuples = "onnx.Transpose"(%places) {perm = array<i64: 1, 0>} : (tensor<1x?xi64>) -> tensor<?x1xi64>
  %rows = "onnx.GatherND"(%x, %tuples) : (tensor<?x4xf32>, tensor<?x1xi64>) -> tensor<?x4xf32>
  %made = "onnx.MatMul"(%rows, %w) : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %shape = "onnx.Shape"(%x) : (tensor<?x4xf32>) -> tensor<2xi64>
  %zeros = "onnx.ConstantOfShape"(%shape) {value = dense<0.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<?x4xf32>
  %y = "onnx.ScatterND"(%zeros, %tuples, %made) {reduction = "add"} : (tensor<?x4xf32>, tensor<?x1xi64>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
