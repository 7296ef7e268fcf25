// RUN: %farskip-opt %s --split-input-file --convert-onnx-to-linalg | FileCheck %s

// Narrow floats are computed in f32 and rounded once.
// CHECK-LABEL: func @mish
// CHECK: arith.extf
// CHECK: math.log1p
// CHECK: math.tanh
// CHECK: arith.truncf
func.func @mish(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = onnx.Mish %x : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// A count of the width or more leaves the sign.
// CHECK-LABEL: func @shift
// CHECK: arith.cmpi ult
// CHECK: arith.select %{{.*}}, %{{.*}}, %c31_i32
// CHECK: arith.shrsi
func.func @shift(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = onnx.BitShift %x, %y {direction = "RIGHT"} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

// CHECK-LABEL: func @bits
// CHECK: arith.bitcast %{{.*}} : f32 to i32
func.func @bits(%x: tensor<4xf32>) -> tensor<4xui32> {
  %0 = onnx.BitCast %x {to = 12 : i64} : (tensor<4xf32>) -> tensor<4xui32>
  return %0 : tensor<4xui32>
}

// -----

// The sum of exponentials is relative to the greatest element.
// CHECK-LABEL: func @log_sum_exp
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: math.log
func.func @log_sum_exp(%x: tensor<4xf32>) -> tensor<1xf32> {
  %0 = onnx.ReduceLogSumExp %x : (tensor<4xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
