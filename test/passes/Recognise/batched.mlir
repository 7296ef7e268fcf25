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

// -----

// Added to the rows of their tokens; numbers of experts are kept in a range that they never leave.
// CHECK-LABEL: func.func @added
// CHECK: moe.experts %arg0, %Values, %Indices
// CHECK: ^bb0(%[[ROWS:.*]]: tensor<?x4xf32>, %[[SLICE:.*]]: tensor<4x6xf32>, %[[BIAS:.*]]: tensor<6xf32>):
// CHECK-NEXT: %[[PRODUCT:.*]] = onnx.MatMul %[[ROWS]], %[[SLICE]]
// CHECK-NEXT: %[[Z:.*]] = onnx.Add %[[PRODUCT]], %[[BIAS]]
// CHECK-NEXT: moe.yield %[[Z]]
// CHECK-NOT: onnx.ScatterND
func.func @added(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %0:2 = onnx.TopK %scores, %two : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = onnx.weight "w" at 0[0, 192] : tensor<2x4x6xf32>
  %b = onnx.weight "b" at 0[192, 48] : tensor<2x6xf32>
  %start = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %step = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %none = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %width = onnx.Constant {value = dense<6> : tensor<1xi64>} : () -> tensor<1xi64>
  %k2 = onnx.Constant {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %end = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %1 = onnx.Shape %x {end = 1 : i64} : (tensor<?x4xf32>) -> tensor<1xi64>
  %2 = onnx.Squeeze %1, %zero : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %3 = onnx.Range %start, %2, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %4 = onnx.Unsqueeze %3, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %5 = onnx.Expand %4, %k2 : (tensor<?x1xi64>, tensor<2xi64>) -> tensor<?x2xi64>
  %6 = onnx.Reshape %5, %last : (tensor<?x2xi64>, tensor<1xi64>) -> tensor<?xi64>
  %7 = onnx.Reshape %0#1, %last : (tensor<?x2xi64>, tensor<1xi64>) -> tensor<?xi64>
  %8 = onnx.Clip %7, %start, %end {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?xi64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %9 = onnx.Gather %x, %6 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %10 = onnx.Unsqueeze %9, %one : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<?x1x4xf32>
  %11 = onnx.Gather %w, %8 : (tensor<2x4x6xf32>, tensor<?xi64>) -> tensor<?x4x6xf32>
  %12 = onnx.MatMul %10, %11 : (tensor<?x1x4xf32>, tensor<?x4x6xf32>) -> tensor<?x1x6xf32>
  %13 = onnx.Squeeze %12, %one : (tensor<?x1x6xf32>, tensor<1xi64>) -> tensor<?x6xf32>
  %14 = onnx.Gather %b, %8 : (tensor<2x6xf32>, tensor<?xi64>) -> tensor<?x6xf32>
  %15 = onnx.Add %13, %14 : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %16 = onnx.Reshape %0#0, %last : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?xf32>
  %17 = onnx.Unsqueeze %16, %one : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %18 = onnx.Mul %15, %17 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %19 = onnx.Concat %1, %width {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %20 = onnx.Expand %none, %19 : (tensor<f32>, tensor<2xi64>) -> tensor<?x6xf32>
  %21 = onnx.Unsqueeze %6, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %22 = onnx.ScatterND %20, %21, %18 {reduction = "add"} : (tensor<?x6xf32>, tensor<?x1xi64>, tensor<?x6xf32>) -> tensor<?x6xf32>
  return %22 : tensor<?x6xf32>
}
