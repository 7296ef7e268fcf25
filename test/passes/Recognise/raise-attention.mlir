// RUN: %farskip-opt %s --split-input-file --raise-attention | FileCheck %s

// The mask is 0 and the lowest number: a row that sees no key is the mean of the values. Keys repeated for two query
// heads each are looked through; the causal part goes, the padding stays.
// CHECK-LABEL: func @causal
// CHECK-SAME: %[[Q:.*]]: tensor<?x4x?x8xf32>{{.*}}, %[[K:.*]]: tensor<?x2x?x8xf32>{{.*}}, %[[V:.*]]: tensor<?x2x?x8xf32>{{.*}}, %[[P:.*]]: tensor<?x1x1x?xi1>
// CHECK-NOT: onnx.Softmax
// CHECK: moe.attend %[[Q]], %[[K]], %[[V]], %[[P]] {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 5.000000e-01 : f64, unseen = "mean"}
func.func @causal(%q: tensor<?x4x?x8xf32> {onnx.dims = ["b", "", "s", ""]}, %k: tensor<?x2x?x8xf32> {onnx.dims = ["b", "", "s", ""]},
                  %v: tensor<?x2x?x8xf32> {onnx.dims = ["b", "", "s", ""]},
                  %padding: tensor<?x1x1x?xi1> {onnx.dims = ["b", "", "", "s"]}) -> tensor<?x4x?x8xf32> {
  %zero = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %ax0 = onnx.Constant {value = dense<[0, 1, 2]> : tensor<3xi64>} : () -> tensor<3xi64>
  %ax1 = onnx.Constant {value = dense<[0, 1, 3]> : tensor<3xi64>} : () -> tensor<3xi64>
  %ax2 = onnx.Constant {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %two = onnx.Constant {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %four = onnx.Constant {value = dense<[4]> : tensor<1xi64>} : () -> tensor<1xi64>
  %shape = onnx.Shape %k {} : (tensor<?x2x?x8xf32>) -> tensor<4xi64>
  %i0 = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %i3 = onnx.Constant {value = dense<[3]> : tensor<1xi64>} : () -> tensor<1xi64>
  %b = onnx.Gather %shape, %i0 {} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
  %s = onnx.Gather %shape, %ax2 {} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
  %d = onnx.Gather %shape, %i3 {} : (tensor<4xi64>, tensor<1xi64>) -> tensor<1xi64>
  %many = onnx.Concat %b, %two, %two, %s, %d {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<5xi64>
  %joined = onnx.Concat %b, %four, %s, %d {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
  %k5 = onnx.Unsqueeze %k, %ax2 {} : (tensor<?x2x?x8xf32>, tensor<1xi64>) -> tensor<?x2x1x?x8xf32>
  %ke = onnx.Expand %k5, %many {} : (tensor<?x2x1x?x8xf32>, tensor<5xi64>) -> tensor<?x2x2x?x8xf32>
  %kk = onnx.Reshape %ke, %joined {} : (tensor<?x2x2x?x8xf32>, tensor<4xi64>) -> tensor<?x4x?x8xf32>
  %v5 = onnx.Unsqueeze %v, %ax2 {} : (tensor<?x2x?x8xf32>, tensor<1xi64>) -> tensor<?x2x1x?x8xf32>
  %ve = onnx.Expand %v5, %many {} : (tensor<?x2x1x?x8xf32>, tensor<5xi64>) -> tensor<?x2x2x?x8xf32>
  %vv = onnx.Reshape %ve, %joined {} : (tensor<?x2x2x?x8xf32>, tensor<4xi64>) -> tensor<?x4x?x8xf32>
  %count = onnx.Squeeze %s, %i0 {} : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  %range = onnx.Range %zero, %count, %one {} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %keys = onnx.Unsqueeze %range, %ax0 {} : (tensor<?xi64>, tensor<3xi64>) -> tensor<1x1x1x?xi64>
  %rows = onnx.Unsqueeze %range, %ax1 {} : (tensor<?xi64>, tensor<3xi64>) -> tensor<1x1x?x1xi64>
  %before = onnx.LessOrEqual %keys, %rows {} : (tensor<1x1x1x?xi64>, tensor<1x1x?x1xi64>) -> tensor<1x1x?x?xi1>
  %seen = onnx.And %before, %padding {} : (tensor<1x1x?x?xi1>, tensor<?x1x1x?xi1>) -> tensor<?x1x?x?xi1>
  %nought = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mask = onnx.Where %seen, %nought, %low {} : (tensor<?x1x?x?xi1>, tensor<f32>, tensor<f32>) -> tensor<?x1x?x?xf32>
  %half = onnx.Constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %kk {perm = array<i64: 0, 1, 3, 2>} : (tensor<?x4x?x8xf32>) -> tensor<?x4x8x?xf32>
  %scores = onnx.MatMul %q, %kt {} : (tensor<?x4x?x8xf32>, tensor<?x4x8x?xf32>) -> tensor<?x4x?x?xf32>
  %scaled = onnx.Div %scores, %half {} : (tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?x?xf32>
  %masked = onnx.Add %scaled, %mask {} : (tensor<?x4x?x?xf32>, tensor<?x1x?x?xf32>) -> tensor<?x4x?x?xf32>
  %p = onnx.Softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  %y = onnx.MatMul %p, %vv {} : (tensor<?x4x?x?xf32>, tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32>
  return %y : tensor<?x4x?x8xf32>
}

// -----

// A mask that nothing is known of is added as it is; NaN after softmax was cleared, so that a row of −∞ is zero.
// Capped scores; √scale on q and on k.
// CHECK-LABEL: func @explicit
// CHECK: moe.attend %arg0, %arg1, %arg2, %arg3 {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 2.500000e-01 : f64, softcap = 3.000000e+01 : f64}
func.func @explicit(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x9x8xf32>, %v: tensor<2x4x9x5xf32>, %mask: tensor<2x1x6x9xf32>) -> tensor<2x4x6x5xf32> {
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %cap = onnx.Constant {value = dense<30.0> : tensor<f32>} : () -> tensor<f32>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %qs = onnx.Mul %q, %half {} : (tensor<2x4x6x8xf32>, tensor<f32>) -> tensor<2x4x6x8xf32>
  %ks = onnx.Mul %k, %half {} : (tensor<2x4x9x8xf32>, tensor<f32>) -> tensor<2x4x9x8xf32>
  %kt = onnx.Transpose %ks {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x9x8xf32>) -> tensor<2x4x8x9xf32>
  %s = onnx.MatMul %qs, %kt {} : (tensor<2x4x6x8xf32>, tensor<2x4x8x9xf32>) -> tensor<2x4x6x9xf32>
  %sc = onnx.Div %s, %cap {} : (tensor<2x4x6x9xf32>, tensor<f32>) -> tensor<2x4x6x9xf32>
  %t = onnx.Tanh %sc {} : (tensor<2x4x6x9xf32>) -> tensor<2x4x6x9xf32>
  %c = onnx.Mul %t, %cap {} : (tensor<2x4x6x9xf32>, tensor<f32>) -> tensor<2x4x6x9xf32>
  %m = onnx.Add %mask, %c {} : (tensor<2x1x6x9xf32>, tensor<2x4x6x9xf32>) -> tensor<2x4x6x9xf32>
  %p = onnx.Softmax %m {} : (tensor<2x4x6x9xf32>) -> tensor<2x4x6x9xf32>
  %nan = onnx.IsNaN %p {} : (tensor<2x4x6x9xf32>) -> tensor<2x4x6x9xi1>
  %clean = onnx.Where %nan, %zero, %p {} : (tensor<2x4x6x9xi1>, tensor<f32>, tensor<2x4x6x9xf32>) -> tensor<2x4x6x9xf32>
  %y = onnx.MatMul %clean, %v {} : (tensor<2x4x6x9xf32>, tensor<2x4x9x5xf32>) -> tensor<2x4x6x5xf32>
  return %y : tensor<2x4x6x5xf32>
}

// -----

// Six sequences of keys for two of queries would be spread by the product; attention takes them one to one.
// CHECK-LABEL: func @stretched
// CHECK-NOT: moe.attend
// CHECK: onnx.Softmax
func.func @stretched(%q: tensor<1x4x6x8xf32>, %kt: tensor<2x4x8x9xf32>, %v: tensor<2x4x9x8xf32>) -> tensor<2x4x6x8xf32> {
  %s = onnx.MatMul %q, %kt {} : (tensor<1x4x6x8xf32>, tensor<2x4x8x9xf32>) -> tensor<2x4x6x9xf32>
  %p = onnx.Softmax %s {} : (tensor<2x4x6x9xf32>) -> tensor<2x4x6x9xf32>
  %y = onnx.MatMul %p, %v {} : (tensor<2x4x6x9xf32>, tensor<2x4x9x8xf32>) -> tensor<2x4x6x8xf32>
  return %y : tensor<2x4x6x8xf32>
}

// -----

// A softmax over heads is no attention.
// CHECK-LABEL: func @heads
// CHECK-NOT: moe.attend
// CHECK: onnx.Softmax
func.func @heads(%q: tensor<2x4x6x8xf32>, %kt: tensor<2x4x8x9xf32>, %v: tensor<2x4x9x8xf32>) -> tensor<2x4x6x8xf32> {
  %s = onnx.MatMul %q, %kt {} : (tensor<2x4x6x8xf32>, tensor<2x4x8x9xf32>) -> tensor<2x4x6x9xf32>
  %p = onnx.Softmax %s {axis = 1 : i64} : (tensor<2x4x6x9xf32>) -> tensor<2x4x6x9xf32>
  %y = onnx.MatMul %p, %v {} : (tensor<2x4x6x9xf32>, tensor<2x4x9x8xf32>) -> tensor<2x4x6x8xf32>
  return %y : tensor<2x4x6x8xf32>
}
