// RUN: %farskip-opt %s --raise-experts --split-input-file | FileCheck %s

// Every expert on every token, one after the other; the weight of what a token did not choose is zero.
// CHECK-LABEL: func.func @loop
// CHECK: %[[STACK:.*]] = moe.stack
// CHECK: moe.experts %arg0, %Values, %Indices params(%[[STACK]])
// CHECK: onnx.Relu
// CHECK-NOT: onnx.Equal
func.func @loop(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %0:2 = onnx.TopK %scores, %two : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w0 = onnx.weight "w0" at 0[0, 96] : tensor<4x6xf32>
  %w1 = onnx.weight "w1" at 0[96, 96] : tensor<4x6xf32>
  %e0 = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %e1 = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %1 = onnx.MatMul %x, %w0 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %2 = onnx.Relu %1 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %3 = onnx.Equal %0#1, %e0 : (tensor<?x2xi64>, tensor<i64>) -> tensor<?x2xi1>
  %4 = onnx.Cast %3 {to = 1 : i64} : (tensor<?x2xi1>) -> tensor<?x2xf32>
  %5 = onnx.Mul %4, %0#0 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %6 = onnx.ReduceSum %5, %last : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %7 = onnx.Mul %2, %6 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %8 = onnx.MatMul %x, %w1 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %9 = onnx.Relu %8 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %10 = onnx.Equal %0#1, %e1 : (tensor<?x2xi64>, tensor<i64>) -> tensor<?x2xi1>
  %11 = onnx.CastLike %10, %0#0 : (tensor<?x2xi1>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %12 = onnx.Mul %11, %0#0 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %13 = onnx.ReduceSum %12, %last : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %14 = onnx.Mul %9, %13 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %15 = onnx.Add %7, %14 : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  return %15 : tensor<?x6xf32>
}

// -----

// All experts in one batched product, the chosen weights scattered among zeros.
// CHECK-LABEL: func.func @batched
// CHECK: %[[STACK:.*]] = onnx.weight "w"
// CHECK: moe.experts %arg0, %Values, %Indices params(%[[STACK]])
// CHECK: ^bb0(%[[ROWS:.*]]: tensor<?x4xf32>, %[[SLICE:.*]]: tensor<4x6xf32>):
// CHECK-NEXT: %[[PRODUCT:.*]] = onnx.MatMul %[[ROWS]], %[[SLICE]]
// CHECK-NEXT: %[[Z:.*]] = onnx.Relu %[[PRODUCT]]
// CHECK-NEXT: moe.yield %[[Z]]
// CHECK-NOT: onnx.ReduceSum
func.func @batched(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %0:2 = onnx.TopK %scores, %two : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = onnx.weight "w" at 0[0, 192] : tensor<2x4x6xf32>
  %none = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %repeats = onnx.Constant {value = dense<[2, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %batched = onnx.Constant {value = dense<[2, -1, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
  %1 = onnx.Shape %scores : (tensor<?x2xf32>) -> tensor<2xi64>
  %2 = onnx.Expand %none, %1 : (tensor<f32>, tensor<2xi64>) -> tensor<?x2xf32>
  %3 = onnx.ScatterElements %2, %0#1, %0#0 {axis = 1 : i64} : (tensor<?x2xf32>, tensor<?x2xi64>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %4 = onnx.Transpose %3 {perm = array<i64: 1, 0>} : (tensor<?x2xf32>) -> tensor<2x?xf32>
  %5 = onnx.Unsqueeze %4, %last : (tensor<2x?xf32>, tensor<1xi64>) -> tensor<2x?x1xf32>
  %6 = onnx.Tile %x, %repeats : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %7 = onnx.Reshape %6, %batched : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<2x?x4xf32>
  %8 = onnx.MatMul %7, %w : (tensor<2x?x4xf32>, tensor<2x4x6xf32>) -> tensor<2x?x6xf32>
  %9 = onnx.Relu %8 : (tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %10 = onnx.Mul %9, %5 : (tensor<2x?x6xf32>, tensor<2x?x1xf32>) -> tensor<2x?x6xf32>
  %11 = onnx.ReduceSum %10, %zero {keepdims = 0 : i64} : (tensor<2x?x6xf32>, tensor<1xi64>) -> tensor<?x6xf32>
  return %11 : tensor<?x6xf32>
}

// -----

// The weight stands before the expert, which is given the weighted row; an expert makes zeros of zeros.
// CHECK-LABEL: func.func @before
// CHECK: %[[WEIGHT:.*]] = onnx.Sigmoid %Values
// CHECK: %[[X:.*]] = onnx.Mul %arg0, %{{.*}}
// CHECK: moe.experts %[[X]], %{{.*}}, %Indices
func.func @before(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %w = onnx.weight "w" at 0[0, 192] : tensor<2x4x6xf32>
  %low = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %repeats = onnx.Constant {value = dense<[2, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %batched = onnx.Constant {value = dense<[2, -1, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
  %column = onnx.Constant {value = dense<[-1, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %0:2 = onnx.TopK %scores, %one : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x1xf32>, tensor<?x1xi64>)
  %1 = onnx.Shape %scores : (tensor<?x2xf32>) -> tensor<2xi64>
  %2 = onnx.Expand %low, %1 : (tensor<f32>, tensor<2xi64>) -> tensor<?x2xf32>
  %3 = onnx.ScatterElements %2, %0#1, %0#0 {axis = 1 : i64} : (tensor<?x2xf32>, tensor<?x1xi64>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %4 = onnx.Sigmoid %3 : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %5 = onnx.Transpose %4 {perm = array<i64: 1, 0>} : (tensor<?x2xf32>) -> tensor<2x?xf32>
  %6 = onnx.Reshape %5, %column : (tensor<2x?xf32>, tensor<2xi64>) -> tensor<?x1xf32>
  %7 = onnx.Tile %x, %repeats : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %8 = onnx.Mul %7, %6 : (tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %9 = onnx.Reshape %8, %batched : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<2x?x4xf32>
  %10 = onnx.MatMul %9, %w : (tensor<2x?x4xf32>, tensor<2x4x6xf32>) -> tensor<2x?x6xf32>
  %11 = onnx.Relu %10 : (tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %12 = onnx.ReduceSum %11, %zero {keepdims = 0 : i64} : (tensor<2x?x6xf32>, tensor<1xi64>) -> tensor<?x6xf32>
  return %12 : tensor<?x6xf32>
}

// -----

// With a bias it does not.
// CHECK-LABEL: func.func @biased
// CHECK-NOT: moe.experts
// CHECK: onnx.ReduceSum
func.func @biased(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %w = onnx.weight "w" at 0[0, 192] : tensor<2x4x6xf32>
  %low = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %repeats = onnx.Constant {value = dense<[2, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %batched = onnx.Constant {value = dense<[2, -1, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
  %column = onnx.Constant {value = dense<[-1, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %b = onnx.Constant {value = dense<[[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], [[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]]]> : tensor<2x1x6xf32>} : () -> tensor<2x1x6xf32>
  %0:2 = onnx.TopK %scores, %one : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x1xf32>, tensor<?x1xi64>)
  %1 = onnx.Shape %scores : (tensor<?x2xf32>) -> tensor<2xi64>
  %2 = onnx.Expand %low, %1 : (tensor<f32>, tensor<2xi64>) -> tensor<?x2xf32>
  %3 = onnx.ScatterElements %2, %0#1, %0#0 {axis = 1 : i64} : (tensor<?x2xf32>, tensor<?x1xi64>, tensor<?x1xf32>) -> tensor<?x2xf32>
  %4 = onnx.Sigmoid %3 : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %5 = onnx.Transpose %4 {perm = array<i64: 1, 0>} : (tensor<?x2xf32>) -> tensor<2x?xf32>
  %6 = onnx.Reshape %5, %column : (tensor<2x?xf32>, tensor<2xi64>) -> tensor<?x1xf32>
  %7 = onnx.Tile %x, %repeats : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %8 = onnx.Mul %7, %6 : (tensor<?x4xf32>, tensor<?x1xf32>) -> tensor<?x4xf32>
  %9 = onnx.Reshape %8, %batched : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<2x?x4xf32>
  %10 = onnx.MatMul %9, %w : (tensor<2x?x4xf32>, tensor<2x4x6xf32>) -> tensor<2x?x6xf32>
  %11 = onnx.Add %10, %b : (tensor<2x?x6xf32>, tensor<2x1x6xf32>) -> tensor<2x?x6xf32>
  %12 = onnx.Relu %11 : (tensor<2x?x6xf32>) -> tensor<2x?x6xf32>
  %13 = onnx.ReduceSum %12, %zero {keepdims = 0 : i64} : (tensor<2x?x6xf32>, tensor<1xi64>) -> tensor<?x6xf32>
  return %13 : tensor<?x6xf32>
}
