// RUN: %farskip-opt %s --lower-expand-shape | FileCheck %s

// Two dynamic extents in one group, on which upstream's expand-strided-metadata stops.
// CHECK-LABEL: func @two_dynamic
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%arg1, %arg2, 48], strides: [%{{.*}}, 48, 1]
// CHECK-NOT: memref.expand_shape
func.func @two_dynamic(%a: memref<?x48xf32>, %d: index, %e: index) -> memref<?x?x48xf32> {
  %x = memref.expand_shape %a [[0, 1], [2]] output_shape [%d, %e, 48] : memref<?x48xf32> into memref<?x?x48xf32>
  return %x : memref<?x?x48xf32>
}

// CHECK-LABEL: func @scalar
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [1, 1], strides: [1, 1]
func.func @scalar(%a: memref<f32>) -> memref<1x1xf32> {
  %x = memref.expand_shape %a [] output_shape [1, 1] : memref<f32> into memref<1x1xf32>
  return %x : memref<1x1xf32>
}
