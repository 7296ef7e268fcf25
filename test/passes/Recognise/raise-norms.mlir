// RUN: %farskip-opt %s --split-input-file --raise-norms | FileCheck %s

// CHECK-LABEL: func @rms
// CHECK: %[[Y:.*]] = onnx.RMSNormalization %arg0, %arg1 {epsilon = 9.99999997E-7 : f32}
// CHECK-NEXT: return %[[Y]]
func.func @rms(%x: tensor<2x?x32xf32> {onnx.dims = ["", "s", ""]}, %gamma: tensor<32xf32>) -> tensor<2x?x32xf32> {
  %two = onnx.Constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %eps = onnx.Constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %axis = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %sq = onnx.Pow %x, %two {} : (tensor<2x?x32xf32>, tensor<f32>) -> tensor<2x?x32xf32>
  %mean = onnx.ReduceMean %sq, %axis {} : (tensor<2x?x32xf32>, tensor<1xi64>) -> tensor<2x?x1xf32>
  %sum = onnx.Add %mean, %eps {} : (tensor<2x?x1xf32>, tensor<f32>) -> tensor<2x?x1xf32>
  %root = onnx.Sqrt %sum {} : (tensor<2x?x1xf32>) -> tensor<2x?x1xf32>
  %inverse = onnx.Div %one, %root {} : (tensor<f32>, tensor<2x?x1xf32>) -> tensor<2x?x1xf32>
  %n = onnx.Mul %x, %inverse {} : (tensor<2x?x32xf32>, tensor<2x?x1xf32>) -> tensor<2x?x32xf32>
  %y = onnx.Mul %gamma, %n {} : (tensor<32xf32>, tensor<2x?x32xf32>) -> tensor<2x?x32xf32>
  return %y : tensor<2x?x32xf32>
}

// -----

// Widened, normalised and narrowed again before the scale: the operator does the same.
// CHECK-LABEL: func @narrow
// CHECK: %[[Y:.*]] = onnx.RMSNormalization %arg0, %arg1
// CHECK-SAME: tensor<4x32xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @narrow(%x: tensor<4x32xbf16>, %gamma: tensor<32xbf16>) -> tensor<4x32xbf16> {
  %eps = onnx.Constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %axis = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %wide = onnx.Cast %x {to = 1 : i64} : (tensor<4x32xbf16>) -> tensor<4x32xf32>
  %sq = onnx.Mul %wide, %wide {} : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %mean = onnx.ReduceMean %sq, %axis {} : (tensor<4x32xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %sum = onnx.Add %eps, %mean {} : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %root = onnx.Sqrt %sum {} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %n = onnx.Div %wide, %root {} : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %back = onnx.Cast %n {to = 16 : i64} : (tensor<4x32xf32>) -> tensor<4x32xbf16>
  %y = onnx.Mul %back, %gamma {} : (tensor<4x32xbf16>, tensor<32xbf16>) -> tensor<4x32xbf16>
  return %y : tensor<4x32xbf16>
}

// -----

// CHECK-LABEL: func @layer
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = onnx.LayerNormalization %arg0, %arg1, %arg2 {epsilon = 9.99999997E-7 : f32}
// CHECK: return %[[Y]]
func.func @layer(%x: tensor<4x32xf32>, %gamma: tensor<32xf32>, %beta: tensor<32xf32>) -> tensor<4x32xf32> {
  %two = onnx.Constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %eps = onnx.Constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %axis = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %m = onnx.ReduceMean %x, %axis {} : (tensor<4x32xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %d = onnx.Sub %x, %m {} : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %sq = onnx.Pow %d, %two {} : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xf32>
  %var = onnx.ReduceMean %sq, %axis {} : (tensor<4x32xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %sum = onnx.Add %var, %eps {} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %root = onnx.Sqrt %sum {} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %n = onnx.Div %d, %root {} : (tensor<4x32xf32>, tensor<4x1xf32>) -> tensor<4x32xf32>
  %s = onnx.Mul %n, %gamma {} : (tensor<4x32xf32>, tensor<32xf32>) -> tensor<4x32xf32>
  %y = onnx.Add %s, %beta {} : (tensor<4x32xf32>, tensor<32xf32>) -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// -----

// The mean goes over another axis than the last.
// CHECK-LABEL: func @other
// CHECK-NOT: Normalization
func.func @other(%x: tensor<32x32xf32>, %gamma: tensor<32xf32>) -> tensor<32x32xf32> {
  %two = onnx.Constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %eps = onnx.Constant {value = dense<1.0e-6> : tensor<f32>} : () -> tensor<f32>
  %axis = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %sq = onnx.Pow %x, %two {} : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
  %mean = onnx.ReduceMean %sq, %axis {} : (tensor<32x32xf32>, tensor<1xi64>) -> tensor<1x32xf32>
  %sum = onnx.Add %mean, %eps {} : (tensor<1x32xf32>, tensor<f32>) -> tensor<1x32xf32>
  %root = onnx.Sqrt %sum {} : (tensor<1x32xf32>) -> tensor<1x32xf32>
  %n = onnx.Div %x, %root {} : (tensor<32x32xf32>, tensor<1x32xf32>) -> tensor<32x32xf32>
  %y = onnx.Mul %n, %gamma {} : (tensor<32x32xf32>, tensor<32xf32>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
