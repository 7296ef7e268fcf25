// RUN: %farskip-opt %s --split-input-file --convert-onnx-to-linalg | FileCheck %s

// The batch axes of data and indices must agree before anything is read.
// CHECK-LABEL: func @gather_nd
// CHECK: rt.check %{{.*}}, "GatherND: batch axis 0 has {0} in the data and {1} in the indices"
// CHECK: tensor.extract
func.func @gather_nd(%d: tensor<?x3xf32> {onnx.dims = ["b", ""]}, %i: tensor<?x1xi64> {onnx.dims = ["c", ""]}) -> tensor<?xf32> {
  %0 = onnx.GatherND %d, %i {batch_dims = 1 : i64} : (tensor<?x3xf32>, tensor<?x1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// Too few elements for the parts: the last one would have a negative size.
// CHECK-LABEL: func @split
// CHECK: rt.check %{{.*}}, "Split: the split size {0} is negative"
// CHECK: tensor.extract_slice
func.func @split(%x: tensor<?xf32> {onnx.dims = ["n"]}) -> tensor<?xf32> {
  %0:4 = onnx.Split %x {num_outputs = 4 : i64} : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)
  return %0#3 : tensor<?xf32>
}

// -----

// CHECK-LABEL: func @range
// CHECK: rt.check %{{.*}}, "Range: delta is 0 or not a number"
// CHECK: rt.check %{{.*}}, "Range: the result would have more than 2^40 elements"
// CHECK: tensor.empty
func.func @range(%s: tensor<f32>, %l: tensor<f32>, %d: tensor<f32>) -> tensor<?xf32> {
  %0 = onnx.Range %s, %l, %d : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// The factors are checked before they are multiplied.
// CHECK-LABEL: func @tile
// CHECK: rt.check %{{.*}}, "Tile: the result would have more than 2^40 elements"
// CHECK: arith.muli
func.func @tile(%x: tensor<?xf32> {onnx.dims = ["n"]}, %r: tensor<1xi64>) -> tensor<?xf32> {
  %0 = onnx.Tile %x, %r : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
