// RUN: %farskip-opt %s --raise-experts --split-input-file | FileCheck %s

// Every pair of a token and a slot is computed with the weights gathered for its expert.
// CHECK-LABEL: func.func @main
// CHECK: %[[STACK:.*]] = onnx.weight
// CHECK: %[[VALUES:.*]], %[[INDICES:.*]] = onnx.TopK
// CHECK: %[[Y:.*]] = moe.experts %arg0, %[[VALUES]], %[[INDICES]] params(%[[STACK]]) {farskip.form = "batched", onnx.node = "sum"}
// CHECK-NEXT: ^bb0(%[[ROWS:.*]]: tensor<?x4xf32>, %[[SLICE:.*]]: tensor<6x4xf32>):
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Transpose %[[SLICE]]
// CHECK-NEXT: %[[PRODUCT:.*]] = onnx.MatMul %[[ROWS]], %[[WEIGHT]]
// CHECK-NEXT: %[[Z:.*]] = onnx.Relu %[[PRODUCT]]
// CHECK-NEXT: moe.yield %[[Z]]
// CHECK: return %[[Y]]
func.func @main(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x8xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %stack = onnx.weight "w" at 0[0, 768] : tensor<8x6x4xf32>
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %repeats = onnx.Constant {value = dense<[1, 2, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %rows = onnx.Constant {value = dense<[-1, 4]> : tensor<2xi64>} : () -> tensor<2xi64>
  %slots = onnx.Constant {value = dense<[-1, 2, 6]> : tensor<3xi64>} : () -> tensor<3xi64>
  %values, %indices = onnx.TopK %scores, %two : (tensor<?x8xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %0 = onnx.Unsqueeze %x, %one : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<?x1x4xf32>
  %1 = onnx.Tile %0, %repeats : (tensor<?x1x4xf32>, tensor<3xi64>) -> tensor<?x2x4xf32>
  %2 = onnx.Reshape %1, %rows : (tensor<?x2x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %3 = onnx.Reshape %indices, %last : (tensor<?x2xi64>, tensor<1xi64>) -> tensor<?xi64>
  %4 = onnx.Gather %stack, %3 : (tensor<8x6x4xf32>, tensor<?xi64>) -> tensor<?x6x4xf32>
  %5 = onnx.Unsqueeze %2, %last : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<?x4x1xf32>
  %6 = onnx.MatMul %4, %5 : (tensor<?x6x4xf32>, tensor<?x4x1xf32>) -> tensor<?x6x1xf32>
  %7 = onnx.Squeeze %6, %last : (tensor<?x6x1xf32>, tensor<1xi64>) -> tensor<?x6xf32>
  %8 = onnx.Relu %7 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %9 = onnx.Reshape %values, %last : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?xf32>
  %10 = onnx.Unsqueeze %9, %last : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %11 = onnx.Mul %8, %10 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %12 = onnx.Reshape %11, %slots : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x2x6xf32>
  %13 = onnx.ReduceSum %12, %one {keepdims = 0 : i64, onnx.node = "sum"} : (tensor<?x2x6xf32>, tensor<1xi64>) -> tensor<?x6xf32>
  return %13 : tensor<?x6xf32>
}

// -----

// A softmax over the features of all pairs of a token together is not row-wise: left as it is.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: moe.experts
// CHECK: onnx.ReduceSum
func.func @mixed(%x: tensor<?x2x4xf32> {onnx.dims = ["t", "", ""]},
                 %scores: tensor<?x8xf32> {onnx.dims = ["t", ""]}) -> tensor<?x4xf32> {
  %stack = onnx.weight "w" at 0[0, 512] : tensor<8x4x4xf32>
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %values, %indices = onnx.TopK %scores, %two : (tensor<?x8xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %0 = onnx.Gather %stack, %indices : (tensor<8x4x4xf32>, tensor<?x2xi64>) -> tensor<?x2x4x4xf32>
  %1 = onnx.Unsqueeze %x, %two : (tensor<?x2x4xf32>, tensor<1xi64>) -> tensor<?x2x1x4xf32>
  %2 = onnx.MatMul %1, %0 : (tensor<?x2x1x4xf32>, tensor<?x2x4x4xf32>) -> tensor<?x2x1x4xf32>
  %3 = onnx.Squeeze %2, %two : (tensor<?x2x1x4xf32>, tensor<1xi64>) -> tensor<?x2x4xf32>
  %4 = onnx.Softmax %3 {axis = 1 : i64} : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
  %5 = onnx.Unsqueeze %values, %two : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?x2x1xf32>
  %6 = onnx.Mul %4, %5 : (tensor<?x2x4xf32>, tensor<?x2x1xf32>) -> tensor<?x2x4xf32>
  %7 = onnx.ReduceSum %6, %one {keepdims = 0 : i64} : (tensor<?x2x4xf32>, tensor<1xi64>) -> tensor<?x4xf32>
  return %7 : tensor<?x4xf32>
}
