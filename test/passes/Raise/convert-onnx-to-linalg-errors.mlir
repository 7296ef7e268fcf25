// RUN: %farskip-opt %s --split-input-file --verify-diagnostics --convert-onnx-to-linalg

func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{cannot broadcast shapes [2, 3] and [2, 4]}}
  %0 = onnx.Add %a, %b : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @main(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) -> tensor<2x5xf32> {
  // expected-error @+1 {{inner dimensions 3 and 4 differ}}
  %0 = onnx.MatMul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{axis 2 is outside [-2, 1] of rank 2}}
  %0 = onnx.Softmax %a {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @main(%a: tensor<5xf32>) -> tensor<1xf32> {
  %i = onnx.Constant {value = dense<[5]> : tensor<1xi64>} : () -> tensor<1xi64>
  // expected-error @+1 {{index 5 is out of range, axis 0 has 5}}
  %0 = onnx.Gather %a, %i : (tensor<5xf32>, tensor<1xi64>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

func.func @main(%a: tensor<2x3xf32>) -> tensor<4xf32> {
  %s = onnx.Constant {value = dense<[4]> : tensor<1xi64>} : () -> tensor<1xi64>
  // expected-error @+1 {{cannot reshape [2, 3] (6 elements) to [4]}}
  %0 = onnx.Reshape %a, %s : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
