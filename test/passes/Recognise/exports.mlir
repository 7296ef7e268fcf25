// RUN: %farskip-opt %s --raise-experts --split-input-file 2>&1 >/dev/null | FileCheck %s

// Exports that have frozen what the traced input did.

// CHECK: warning: tokens choose among 2 experts, the model computes 1 of them
func.func @missing(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
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
  return %21 : tensor<?x6xf32>
}

// -----

// CHECK: warning: splits the tokens sorted by expert into 2 parts of the sizes that the traced input had
func.func @frozen(%x: tensor<?x4xf32> {onnx.dims = ["t", ""]},
                %scores: tensor<?x2xf32> {onnx.dims = ["t", ""]}) -> tensor<4x4xf32> {
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %0:2 = onnx.TopK %scores, %two : (tensor<?x2xf32>, tensor<1xi64>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %sizes = onnx.Constant {value = dense<[3, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %k = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %1 = onnx.Reshape %0#1, %last : (tensor<?x2xi64>, tensor<1xi64>) -> tensor<?xi64>
  %2 = onnx.Shape %1 : (tensor<?xi64>) -> tensor<1xi64>
  %3:2 = onnx.TopK %1, %2 {largest = 0 : i64} : (tensor<?xi64>, tensor<1xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  %4 = onnx.Div %3#1, %k : (tensor<?xi64>, tensor<i64>) -> tensor<?xi64>
  %5 = onnx.Gather %x, %4 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %6:2 = onnx.Split %5, %sizes : (tensor<?x4xf32>, tensor<2xi64>) -> (tensor<3x4xf32>, tensor<1x4xf32>)
  %7 = onnx.Concat %6#0, %6#1 {axis = 0 : i64} : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  return %7 : tensor<4x4xf32>
}
