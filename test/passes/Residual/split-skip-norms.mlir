// RUN: farskip-opt %s --split-skip-norms | FileCheck %s

// CHECK-LABEL: func @rms
// CHECK: %[[SUM:.*]] = onnx.Add %arg1, %arg0
// CHECK: onnx.SimplifiedLayerNormalization %[[SUM]], %arg2
// CHECK: return %{{.*}}, %[[SUM]]
func.func @rms(%x: tensor<?x4xf32>, %skip: tensor<?x4xf32>, %gamma: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %y:4 = "onnx.ms.SkipSimplifiedLayerNormalization"(%x, %skip, %gamma) {epsilon = 1.0e-5 : f32}
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x4xf32>)
  return %y#0, %y#3 : tensor<?x4xf32>, tensor<?x4xf32>
}

// The last norm of a model: nobody reads its sum, but it is the last addition.
// CHECK-LABEL: func @last
// CHECK: %[[BIASED:.*]] = onnx.Add %arg0, %arg4
// CHECK: %[[SUM:.*]] = onnx.Add %arg1, %[[BIASED]]
// CHECK: onnx.LayerNormalization %[[SUM]], %arg2, %arg3
func.func @last(%x: tensor<?x4xf32>, %skip: tensor<?x4xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>, %bias: tensor<4xf32>) -> tensor<?x4xf32> {
  %y:4 = "onnx.ms.SkipLayerNormalization"(%x, %skip, %gamma, %beta, %bias) {epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x4xf32>)
  return %y#0 : tensor<?x4xf32>
}
