// RUN: %farskip-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

func.func @direction(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{direction is 'UP', valid are LEFT and RIGHT}}
  %0 = onnx.BitShift %x, %x {direction = "UP"} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @width(%x: tensor<4xf32>) -> tensor<4xi64> {
  // expected-error @+1 {{element types 'f32' and 'i64' have different widths}}
  %0 = onnx.BitCast %x {to = 7 : i64} : (tensor<4xf32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

func.func @slope(%x: tensor<4xf32>, %s: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{a slope of shape [3] does not fit [4]}}
  %0 = onnx.PRelu %x, %s : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @rank(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // expected-error @+1 {{the rank of the result is not known before the run}}
  %0 = onnx.Squeeze %x : (tensor<?x?xf32>) -> tensor<*xf32>
  return %x : tensor<?x?xf32>
}
