// RUN: %farskip-opt %s --split-input-file --convert-onnx-to-linalg | FileCheck %s

// Axes that only the run knows: the rank comes from their number, or from what the model declares.
// CHECK-LABEL: func @reduce
// CHECK: rt.check %{{.*}}, "ReduceSum: axis {0} is outside the rank {1}"
// CHECK: rt.check %{{.*}}, "ReduceSum: an axis is given twice"
// CHECK: rt.check %{{.*}}, "ReduceSum: the result has rank {0}, wanted {1}"
// CHECK: tensor.reshape %{{.*}} -> tensor<?xf32>
func.func @reduce(%x: tensor<3x4xf32>, %a: tensor<1xi64>) -> tensor<?xf32> {
  %0 = onnx.ReduceSum %x, %a {keepdims = 0 : i64} : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// No axes at all: known before the run.
// CHECK-LABEL: func @no_axes
// CHECK-NOT: rt.check
// CHECK: return %arg0
func.func @no_axes(%x: tensor<3x4xf32>, %a: tensor<0xi64>) -> tensor<3x4xf32> {
  %0 = onnx.ReduceSum %x, %a {noop_with_empty_axes = 1 : i64} : (tensor<3x4xf32>, tensor<0xi64>) -> tensor<*xf32>
  %1 = onnx.Squeeze %0, %a : (tensor<*xf32>, tensor<0xi64>) -> tensor<*xf32>
  return %x : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func @slice
// CHECK: rt.check %{{.*}}, "Slice: starts, ends, axes and steps have different lengths: {0} and {1}"
// CHECK: scf.for
// CHECK: rt.check %{{.*}}, "Slice: axis {0} is outside the rank {1}"
// CHECK: rt.check %{{.*}}, "Slice: step 0 along axis {0}"
func.func @slice(%x: tensor<3x4xf32>, %s: tensor<?xi64>, %e: tensor<?xi64>, %a: tensor<?xi64>, %t: tensor<?xi64>) -> tensor<?x?xf32> {
  %0 = onnx.Slice %x, %s, %e, %a, %t {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<3x4xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func @unsqueeze
// CHECK: rt.check %{{.*}}, "Unsqueeze: the axes make a result of another rank than 3"
// CHECK: tensor.reshape
func.func @unsqueeze(%x: tensor<3x4xf32>, %a: tensor<?xi64>) -> tensor<?x?x?xf32> {
  %0 = onnx.Unsqueeze %x, %a : (tensor<3x4xf32>, tensor<?xi64>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}

// -----

// CHECK-LABEL: func @squeeze
// CHECK: rt.check %{{.*}}, "Squeeze: axis 0 has extent {0}, wanted 1"
func.func @squeeze(%x: tensor<1x4xf32>, %a: tensor<1xi64>) -> tensor<?xf32> {
  %0 = onnx.Squeeze %x, %a : (tensor<1x4xf32>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// The length of the tuples follows from the ranks; it is checked.
// CHECK-LABEL: func @gather_nd
// CHECK: rt.check %{{.*}}, "GatherND: the index tuples have extent {0}, wanted {1}"
func.func @gather_nd(%d: tensor<?x3xf32>, %i: tensor<?x?xi64>) -> tensor<?xf32> {
  %0 = onnx.GatherND %d, %i : (tensor<?x3xf32>, tensor<?x?xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
