// RUN: %farskip-opt %s --raise-experts --split-input-file | FileCheck %s

// Pairs sorted by expert; the bounds of the experts' parts are running sums of a histogram.
// CHECK-LABEL: func.func @main
// CHECK: %[[STACK:.*]] = onnx.weight "w"
// CHECK: moe.experts %arg0, %Values, %Indices params(%[[STACK]])
// CHECK: ^bb0(%[[ROWS:.*]]: tensor<?x4xf32>, %[[SLICE:.*]]: tensor<4x6xf32>):
// CHECK-NEXT: %[[PRODUCT:.*]] = onnx.MatMul %[[ROWS]], %[[SLICE]]
// CHECK-NEXT: %[[Z:.*]] = onnx.Relu %[[PRODUCT]]
// CHECK-NEXT: moe.yield %[[Z]]
// CHECK-NOT: onnx.Concat
func.func @main(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %0:2 = onnx.TopK %scores, %two : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = onnx.weight "w" at 0[0, 192] : tensor<2x4x6xf32>
  %k = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %start = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %step = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %f1 = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %counts0 = onnx.Constant {value = dense<0.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %slots = onnx.Constant {value = dense<[-1, 2, 6]> : tensor<3xi64>} : () -> tensor<3xi64>
  %1 = onnx.Reshape %0#1, %last : (tensor<?x2xi64>, tensor<1xi64>) -> tensor<?xi64>
  %2 = onnx.Shape %1 : (tensor<?xi64>) -> tensor<1xi64>
  %3:2 = onnx.TopK %1, %2 {largest = 0 : i64} : (tensor<?xi64>, tensor<1xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %4 = onnx.Div %3#1, %k : (tensor<?xi64>, tensor<i64>) -> tensor<?xi64>
  %5 = onnx.Gather %x, %4 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %6 = onnx.Reshape %0#0, %last : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?xf32>
  %7 = onnx.Gather %6, %3#1 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %8 = onnx.Unsqueeze %7, %one : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %9 = onnx.Expand %f1, %2 : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  %10 = onnx.ScatterElements %counts0, %3#0, %9 {reduction = "add"} : (tensor<2xf32>, tensor<?xi64>, tensor<?xf32>) -> tensor<2xf32>
  %11 = onnx.Cast %10 {to = 7 : i64} : (tensor<2xf32>) -> tensor<2xi64>
  %12 = onnx.CumSum %11, %start : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %13:2 = onnx.Split %12 {num_outputs = 2 : i64} : (tensor<2xi64>) -> (tensor<1xi64>, tensor<1xi64>)
  %14:2 = onnx.Split %w {num_outputs = 2 : i64} : (tensor<2x4x6xf32>) -> (tensor<1x4x6xf32>, tensor<1x4x6xf32>)
  %15 = onnx.Squeeze %13#0, %zero : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %16 = onnx.Squeeze %13#1, %zero : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %17 = onnx.Range %start, %15, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %18 = onnx.Gather %5, %17 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %19 = onnx.Squeeze %14#0, %zero : (tensor<1x4x6xf32>, tensor<1xi64>) -> tensor<4x6xf32>
  %20 = onnx.MatMul %18, %19 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %21 = onnx.Range %15, %16, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %22 = onnx.Gather %5, %21 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %23 = onnx.Squeeze %14#1, %zero : (tensor<1x4x6xf32>, tensor<1xi64>) -> tensor<4x6xf32>
  %24 = onnx.MatMul %22, %23 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %25 = onnx.Concat %20, %24 {axis = 0 : i64} : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %26 = onnx.Relu %25 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %27 = onnx.Mul %26, %8 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %28 = onnx.Expand %start, %2 : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
  %29 = onnx.Unsqueeze %3#1, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %30 = onnx.Squeeze %2, %zero : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %31 = onnx.Range %start, %30, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %32 = onnx.ScatterND %28, %29, %31 : (tensor<?xi64>, tensor<?x1xi64>, tensor<?xi64>) -> tensor<?xi64>
  %33 = onnx.Gather %27, %32 : (tensor<?x6xf32>, tensor<?xi64>) -> tensor<?x6xf32>
  %34 = onnx.Reshape %33, %slots : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x2x6xf32>
  %35 = onnx.ReduceSum %34, %one {keepdims = 0 : i64} : (tensor<?x2x6xf32>, tensor<1xi64>) -> tensor<?x6xf32>
  return %35 : tensor<?x6xf32>
}

// -----

// Each part has another expert's weights: left as it is.
// CHECK-LABEL: func.func @crossed
// CHECK-NOT: moe.experts
// CHECK: farskip.missed = "form 'sorted': node 'Split' is unlike the same step of another expert"
func.func @crossed(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %0:2 = onnx.TopK %scores, %two : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w = onnx.weight "w" at 0[0, 192] : tensor<2x4x6xf32>
  %k = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %start = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %step = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %f1 = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %counts0 = onnx.Constant {value = dense<0.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %slots = onnx.Constant {value = dense<[-1, 2, 6]> : tensor<3xi64>} : () -> tensor<3xi64>
  %1 = onnx.Reshape %0#1, %last : (tensor<?x2xi64>, tensor<1xi64>) -> tensor<?xi64>
  %2 = onnx.Shape %1 : (tensor<?xi64>) -> tensor<1xi64>
  %3:2 = onnx.TopK %1, %2 {largest = 0 : i64} : (tensor<?xi64>, tensor<1xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %4 = onnx.Div %3#1, %k : (tensor<?xi64>, tensor<i64>) -> tensor<?xi64>
  %5 = onnx.Gather %x, %4 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %6 = onnx.Reshape %0#0, %last : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?xf32>
  %7 = onnx.Gather %6, %3#1 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %8 = onnx.Unsqueeze %7, %one : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %9 = onnx.Expand %f1, %2 : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  %10 = onnx.ScatterElements %counts0, %3#0, %9 {reduction = "add"} : (tensor<2xf32>, tensor<?xi64>, tensor<?xf32>) -> tensor<2xf32>
  %11 = onnx.Cast %10 {to = 7 : i64} : (tensor<2xf32>) -> tensor<2xi64>
  %12 = onnx.CumSum %11, %start : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %13:2 = onnx.Split %12 {num_outputs = 2 : i64} : (tensor<2xi64>) -> (tensor<1xi64>, tensor<1xi64>)
  %14:2 = onnx.Split %w {num_outputs = 2 : i64} : (tensor<2x4x6xf32>) -> (tensor<1x4x6xf32>, tensor<1x4x6xf32>)
  %15 = onnx.Squeeze %13#0, %zero : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %16 = onnx.Squeeze %13#1, %zero : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %17 = onnx.Range %start, %15, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %18 = onnx.Gather %5, %17 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %19 = onnx.Squeeze %14#1, %zero : (tensor<1x4x6xf32>, tensor<1xi64>) -> tensor<4x6xf32>
  %20 = onnx.MatMul %18, %19 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %21 = onnx.Range %15, %16, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %22 = onnx.Gather %5, %21 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %23 = onnx.Squeeze %14#0, %zero : (tensor<1x4x6xf32>, tensor<1xi64>) -> tensor<4x6xf32>
  %24 = onnx.MatMul %22, %23 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %25 = onnx.Concat %20, %24 {axis = 0 : i64} : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %26 = onnx.Relu %25 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %27 = onnx.Mul %26, %8 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %28 = onnx.Expand %start, %2 : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
  %29 = onnx.Unsqueeze %3#1, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %30 = onnx.Squeeze %2, %zero : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %31 = onnx.Range %start, %30, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %32 = onnx.ScatterND %28, %29, %31 : (tensor<?xi64>, tensor<?x1xi64>, tensor<?xi64>) -> tensor<?xi64>
  %33 = onnx.Gather %27, %32 : (tensor<?x6xf32>, tensor<?xi64>) -> tensor<?x6xf32>
  %34 = onnx.Reshape %33, %slots : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x2x6xf32>
  %35 = onnx.ReduceSum %34, %one {keepdims = 0 : i64} : (tensor<?x2x6xf32>, tensor<1xi64>) -> tensor<?x6xf32>
  return %35 : tensor<?x6xf32>
}
