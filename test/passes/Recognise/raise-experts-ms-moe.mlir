// RUN: farskip-opt %s --raise-experts | FileCheck %s

// CHECK-LABEL: func @main
// CHECK: %[[X:.*]] = onnx.Reshape %arg0
// CHECK: onnx.Softmax
// CHECK: %[[V:.*]], %[[E:.*]] = onnx.TopK
// CHECK: onnx.ReduceSum
// CHECK: %[[W:.*]] = onnx.Div
// CHECK: moe.experts %[[X]], %[[W]], %[[E]] params(%arg2, %arg3, %arg4)
// CHECK: ^bb0(%[[ROWS:.*]]: tensor<?x4xf32>, %[[UP:.*]]: tensor<12x4xf32>, %[[BIAS:.*]]: tensor<12xf32>, %[[DOWN:.*]]: tensor<4x6xf32>)
// CHECK: onnx.Transpose %[[UP]]
// CHECK: onnx.Slice
// CHECK: onnx.Clip
// CHECK: onnx.Sigmoid
// CHECK: onnx.Transpose %[[DOWN]]
// CHECK: moe.yield
// CHECK: onnx.Reshape
func.func @main(%x: tensor<?x?x4xf32>, %logits: tensor<?x3xf32>, %up: tensor<3x12x4xf32>, %bias: tensor<3x12xf32>,
                %down: tensor<3x4x6xf32>) -> tensor<?x?x4xf32> {
  %y = "onnx.ms.MoE"(%x, %logits, %up, %bias, %down) {
    activation_type = "swiglu", activation_alpha = 1.702 : f32, activation_beta = 1.0 : f32, k = 2 : i64,
    normalize_routing_weights = 1 : i64, swiglu_fusion = 1 : i64, swiglu_limit = 7.0 : f32,
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>
  } : (tensor<?x?x4xf32>, tensor<?x3xf32>, tensor<3x12x4xf32>, tensor<3x12xf32>, tensor<3x4x6xf32>) -> tensor<?x?x4xf32>
  return %y : tensor<?x?x4xf32>
}
