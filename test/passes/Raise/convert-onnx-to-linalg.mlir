// RUN: %farskip-opt %s --split-input-file --convert-onnx-to-linalg --canonicalize | FileCheck %s

// Equal symbols need no broadcast; a vector is broadcast by its map.
// CHECK-LABEL: func @add
// CHECK-NOT: rt.check
// CHECK: linalg.generic
// CHECK: arith.addf
func.func @add(%a: tensor<?x4xf32> {onnx.dims = ["n", ""]}, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  %0 = onnx.Add %a, %b : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// Different symbols may or may not be stretched: checked when the program runs.
// CHECK-LABEL: func @unproven
// CHECK: rt.check %{{.*}}, "Add: cannot broadcast extents {0} and {1} along axis 0"
func.func @unproven(%a: tensor<?xf32> {onnx.dims = ["n"]}, %b: tensor<?xf32> {onnx.dims = ["m"]}) -> tensor<?xf32> {
  %0 = onnx.Add %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// Shape arithmetic disappears: the reshape's extents are expressions over those of the input.
// CHECK-LABEL: func @shape_arithmetic
// CHECK-NOT: tensor.reshape
// CHECK: tensor.expand_shape
func.func @shape_arithmetic(%x: tensor<?x?x64xf32> {onnx.dims = ["b", "s", ""]}) -> tensor<?x?x4x16xf32> {
  %two = onnx.Constant {value = dense<[0, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %heads = onnx.Constant {value = dense<[4, 16]> : tensor<2xi64>} : () -> tensor<2xi64>
  %shape = onnx.Shape %x : (tensor<?x?x64xf32>) -> tensor<3xi64>
  %front = onnx.Gather %shape, %two : (tensor<3xi64>, tensor<2xi64>) -> tensor<2xi64>
  %all = onnx.Concat %front, %heads {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %0 = onnx.Reshape %x, %all : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x4x16xf32>
  return %0 : tensor<?x?x4x16xf32>
}

// -----

// An index that only the run knows is checked once, before the loads.
// CHECK-LABEL: func @gather
// CHECK: rt.check %{{.*}}, "Gather: index {0} is out of range, the axis has {1}"
// CHECK: rt.check %{{.*}}, "Gather: index {0} is out of range, the axis has {1}"
// CHECK: tensor.extract
func.func @gather(%table: tensor<10x4xf32>, %ids: tensor<?xi64> {onnx.dims = ["n"]}) -> tensor<?x4xf32> {
  %0 = onnx.Gather %table, %ids : (tensor<10x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
