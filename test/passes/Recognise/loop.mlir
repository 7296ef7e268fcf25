// RUN: %farskip-opt %s --raise-experts --split-input-file 2>&1 | FileCheck %s

// Expert after expert takes the rows of the tokens that chose it; their parameters are stacked in the order of the
// experts, whatever the order of the loop.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W0:.*]] = onnx.weight "w0"
// CHECK-DAG: %[[W1:.*]] = onnx.weight "w1"
// CHECK: %[[STACK:.*]] = moe.stack %[[W0]], %[[W1]] : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<2x4x6xf32>
// CHECK: moe.experts %arg0, %Values, %Indices params(%[[STACK]]) {farskip.form = "loop", onnx.node = "add1"}
// CHECK: ^bb0(%[[ROWS:.*]]: tensor<?x4xf32>, %[[SLICE:.*]]: tensor<4x6xf32>):
// CHECK-NEXT: %[[PRODUCT:.*]] = onnx.MatMul %[[ROWS]], %[[SLICE]]
// CHECK-NEXT: %[[Z:.*]] = onnx.Relu %[[PRODUCT]]
// CHECK-NEXT: moe.yield %[[Z]]
// CHECK-NOT: onnx.NonZero
func.func @main(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %0:2 = onnx.TopK %scores, %two : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w0 = onnx.weight "w0" at 0[0, 96] : tensor<4x6xf32>
  %w1 = onnx.weight "w1" at 0[96, 96] : tensor<4x6xf32>
  %depth = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %offon = onnx.Constant {value = dense<[0, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %e0 = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %e1 = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %none = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %w = onnx.Constant {value = dense<6> : tensor<1xi64>} : () -> tensor<1xi64>
  %1 = onnx.Shape %x {end = 1 : i64} : (tensor<?x4xf32>) -> tensor<1xi64>
  %2 = onnx.Concat %1, %w {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %3 = onnx.Expand %none, %2 : (tensor<f32>, tensor<2xi64>) -> tensor<?x6xf32>
  %4 = onnx.OneHot %0#1, %depth, %offon {onnx.node = "onehot"} : (tensor<?x2xi64>, tensor<i64>, tensor<2xi64>) -> tensor<?x2x2xi64>
  %5 = onnx.Transpose %4 {perm = array<i64: 2, 1, 0>} : (tensor<?x2x2xi64>) -> tensor<2x2x?xi64>
  %6 = onnx.Reshape %0#0, %last : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?xf32>
  %7 = onnx.Gather %5, %e0 : (tensor<2x2x?xi64>, tensor<i64>) -> tensor<2x?xi64>
  %8 = onnx.NonZero %7 : (tensor<2x?xi64>) -> tensor<2x?xi64>
  %9:2 = onnx.Split %8 {num_outputs = 2 : i64} : (tensor<2x?xi64>) -> (tensor<1x?xi64>, tensor<1x?xi64>)
  %10 = onnx.Squeeze %9#0, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %11 = onnx.Squeeze %9#1, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %12 = onnx.Gather %x, %11 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %13 = onnx.MatMul %12, %w0 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %14 = onnx.Relu %13 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %15 = onnx.Mul %11, %two : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %16 = onnx.Add %15, %10 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %17 = onnx.Gather %6, %16 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %18 = onnx.Unsqueeze %17, %one : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %19 = onnx.Mul %14, %18 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %20 = onnx.Unsqueeze %11, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %21 = onnx.ScatterND %3, %20, %19 {onnx.node = "add0", reduction = "add"} : (tensor<?x6xf32>, tensor<?x1xi64>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %22 = onnx.Gather %5, %e1 : (tensor<2x2x?xi64>, tensor<i64>) -> tensor<2x?xi64>
  %23 = onnx.NonZero %22 : (tensor<2x?xi64>) -> tensor<2x?xi64>
  %24:2 = onnx.Split %23 {num_outputs = 2 : i64} : (tensor<2x?xi64>) -> (tensor<1x?xi64>, tensor<1x?xi64>)
  %25 = onnx.Squeeze %24#0, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %26 = onnx.Squeeze %24#1, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %27 = onnx.Gather %x, %26 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %28 = onnx.MatMul %27, %w1 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %29 = onnx.Relu %28 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %30 = onnx.Mul %26, %two : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %31 = onnx.Add %30, %25 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %32 = onnx.Gather %6, %31 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %33 = onnx.Unsqueeze %32, %one : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %34 = onnx.Mul %29, %33 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %35 = onnx.Unsqueeze %26, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %36 = onnx.ScatterND %21, %35, %34 {onnx.node = "add1", reduction = "add"} : (tensor<?x6xf32>, tensor<?x1xi64>, tensor<?x6xf32>) -> tensor<?x6xf32>
  return %36 : tensor<?x6xf32>
}

// -----

// CHECK-LABEL: func.func @swapped
// CHECK-DAG: %[[W0:.*]] = onnx.weight "w0"
// CHECK-DAG: %[[W1:.*]] = onnx.weight "w1"
// CHECK: moe.stack %[[W1]], %[[W0]]
func.func @swapped(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %0:2 = onnx.TopK %scores, %two : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w0 = onnx.weight "w0" at 0[0, 96] : tensor<4x6xf32>
  %w1 = onnx.weight "w1" at 0[96, 96] : tensor<4x6xf32>
  %depth = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %offon = onnx.Constant {value = dense<[0, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %e0 = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %e1 = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %none = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %w = onnx.Constant {value = dense<6> : tensor<1xi64>} : () -> tensor<1xi64>
  %1 = onnx.Shape %x {end = 1 : i64} : (tensor<?x4xf32>) -> tensor<1xi64>
  %2 = onnx.Concat %1, %w {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %3 = onnx.Expand %none, %2 : (tensor<f32>, tensor<2xi64>) -> tensor<?x6xf32>
  %4 = onnx.OneHot %0#1, %depth, %offon {onnx.node = "onehot"} : (tensor<?x2xi64>, tensor<i64>, tensor<2xi64>) -> tensor<?x2x2xi64>
  %5 = onnx.Transpose %4 {perm = array<i64: 2, 1, 0>} : (tensor<?x2x2xi64>) -> tensor<2x2x?xi64>
  %6 = onnx.Reshape %0#0, %last : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?xf32>
  %7 = onnx.Gather %5, %e1 : (tensor<2x2x?xi64>, tensor<i64>) -> tensor<2x?xi64>
  %8 = onnx.NonZero %7 : (tensor<2x?xi64>) -> tensor<2x?xi64>
  %9:2 = onnx.Split %8 {num_outputs = 2 : i64} : (tensor<2x?xi64>) -> (tensor<1x?xi64>, tensor<1x?xi64>)
  %10 = onnx.Squeeze %9#0, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %11 = onnx.Squeeze %9#1, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %12 = onnx.Gather %x, %11 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %13 = onnx.MatMul %12, %w0 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %14 = onnx.Relu %13 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %15 = onnx.Mul %11, %two : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %16 = onnx.Add %15, %10 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %17 = onnx.Gather %6, %16 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %18 = onnx.Unsqueeze %17, %one : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %19 = onnx.Mul %14, %18 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %20 = onnx.Unsqueeze %11, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %21 = onnx.ScatterND %3, %20, %19 {onnx.node = "add0", reduction = "add"} : (tensor<?x6xf32>, tensor<?x1xi64>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %22 = onnx.Gather %5, %e0 : (tensor<2x2x?xi64>, tensor<i64>) -> tensor<2x?xi64>
  %23 = onnx.NonZero %22 : (tensor<2x?xi64>) -> tensor<2x?xi64>
  %24:2 = onnx.Split %23 {num_outputs = 2 : i64} : (tensor<2x?xi64>) -> (tensor<1x?xi64>, tensor<1x?xi64>)
  %25 = onnx.Squeeze %24#0, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %26 = onnx.Squeeze %24#1, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %27 = onnx.Gather %x, %26 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %28 = onnx.MatMul %27, %w1 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %29 = onnx.Relu %28 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %30 = onnx.Mul %26, %two : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %31 = onnx.Add %30, %25 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %32 = onnx.Gather %6, %31 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %33 = onnx.Unsqueeze %32, %one : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %34 = onnx.Mul %29, %33 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %35 = onnx.Unsqueeze %26, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %36 = onnx.ScatterND %21, %35, %34 {onnx.node = "add1", reduction = "add"} : (tensor<?x6xf32>, tensor<?x1xi64>, tensor<?x6xf32>) -> tensor<?x6xf32>
  return %36 : tensor<?x6xf32>
}

// -----

// An expert that the others are unlike: left as it is, with the rule and the node.
// CHECK-LABEL: func.func @unlike
// CHECK-NOT: moe.experts
// CHECK: farskip.missed = "form 'loop': node '{{.*}}' is unlike the same step of another expert"
func.func @unlike(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<?x6xf32> {
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %0:2 = onnx.TopK %scores, %two : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %w0 = onnx.weight "w0" at 0[0, 96] : tensor<4x6xf32>
  %w1 = onnx.weight "w1" at 0[96, 96] : tensor<4x6xf32>
  %depth = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %offon = onnx.Constant {value = dense<[0, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %e0 = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %e1 = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %none = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %w = onnx.Constant {value = dense<6> : tensor<1xi64>} : () -> tensor<1xi64>
  %1 = onnx.Shape %x {end = 1 : i64} : (tensor<?x4xf32>) -> tensor<1xi64>
  %2 = onnx.Concat %1, %w {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %3 = onnx.Expand %none, %2 : (tensor<f32>, tensor<2xi64>) -> tensor<?x6xf32>
  %4 = onnx.OneHot %0#1, %depth, %offon {onnx.node = "onehot"} : (tensor<?x2xi64>, tensor<i64>, tensor<2xi64>) -> tensor<?x2x2xi64>
  %5 = onnx.Transpose %4 {perm = array<i64: 2, 1, 0>} : (tensor<?x2x2xi64>) -> tensor<2x2x?xi64>
  %6 = onnx.Reshape %0#0, %last : (tensor<?x2xf32>, tensor<1xi64>) -> tensor<?xf32>
  %7 = onnx.Gather %5, %e0 : (tensor<2x2x?xi64>, tensor<i64>) -> tensor<2x?xi64>
  %8 = onnx.NonZero %7 : (tensor<2x?xi64>) -> tensor<2x?xi64>
  %9:2 = onnx.Split %8 {num_outputs = 2 : i64} : (tensor<2x?xi64>) -> (tensor<1x?xi64>, tensor<1x?xi64>)
  %10 = onnx.Squeeze %9#0, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %11 = onnx.Squeeze %9#1, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %12 = onnx.Gather %x, %11 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %13 = onnx.MatMul %12, %w0 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %14 = onnx.Relu %13 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %15 = onnx.Mul %11, %two : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %16 = onnx.Add %15, %10 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %17 = onnx.Gather %6, %16 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %18 = onnx.Unsqueeze %17, %one : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %19 = onnx.Mul %14, %18 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %20 = onnx.Unsqueeze %11, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %21 = onnx.ScatterND %3, %20, %19 {onnx.node = "add0", reduction = "add"} : (tensor<?x6xf32>, tensor<?x1xi64>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %22 = onnx.Gather %5, %e1 : (tensor<2x2x?xi64>, tensor<i64>) -> tensor<2x?xi64>
  %23 = onnx.NonZero %22 : (tensor<2x?xi64>) -> tensor<2x?xi64>
  %24:2 = onnx.Split %23 {num_outputs = 2 : i64} : (tensor<2x?xi64>) -> (tensor<1x?xi64>, tensor<1x?xi64>)
  %25 = onnx.Squeeze %24#0, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %26 = onnx.Squeeze %24#1, %zero : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %27 = onnx.Gather %x, %26 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %28 = onnx.MatMul %27, %w1 : (tensor<?x4xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %29 = onnx.Tanh %28 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %30 = onnx.Mul %26, %two : (tensor<?xi64>, tensor<1xi64>) -> tensor<?xi64>
  %31 = onnx.Add %30, %25 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %32 = onnx.Gather %6, %31 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %33 = onnx.Unsqueeze %32, %one : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  %34 = onnx.Mul %29, %33 : (tensor<?x6xf32>, tensor<?x1xf32>) -> tensor<?x6xf32>
  %35 = onnx.Unsqueeze %26, %one : (tensor<?xi64>, tensor<1xi64>) -> tensor<?x1xi64>
  %36 = onnx.ScatterND %21, %35, %34 {onnx.node = "add1", reduction = "add"} : (tensor<?x6xf32>, tensor<?x1xi64>, tensor<?x6xf32>) -> tensor<?x6xf32>
  return %36 : tensor<?x6xf32>
}
