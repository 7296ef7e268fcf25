// RUN: %farskip-opt %s --raise-experts | FileCheck %s

// The logits are chosen first, the softmax is over the chosen; the weights stay packed inside the region.
// CHECK-LABEL: func @qmoe
// CHECK: %[[TOP:.*]], %[[WHICH:.*]] = onnx.TopK
// CHECK: %[[SOFT:.*]] = onnx.Softmax %[[TOP]]
// CHECK: moe.experts %{{.*}}, %[[SOFT]], %[[WHICH]] params
// CHECK: onnx.ms.MatMulNBits {{.*}}K = 32 : i64, N = 16 : i64
// CHECK: onnx.Sigmoid
// CHECK: onnx.ms.MatMulNBits {{.*}}K = 8 : i64, N = 32 : i64
func.func @qmoe(%x: tensor<?x32xf32> {onnx.dims = ["t", ""]}, %r: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %w1: tensor<4x16x16xui8>, %s1: tensor<4x16xf32>, %w2: tensor<4x32x4xui8>, %s2: tensor<4x32xf32>)
    -> tensor<?x32xf32> {
  %0 = onnx.ms.QMoE %x, %r, %w1, %s1, %w2, %s2
      {k = 2 : i64, activation_type = "swiglu", swiglu_fusion = 1 : i64,
       operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
      : (tensor<?x32xf32>, tensor<?x4xf32>, tensor<4x16x16xui8>, tensor<4x16xf32>, tensor<4x32x4xui8>, tensor<4x32xf32>)
      -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
