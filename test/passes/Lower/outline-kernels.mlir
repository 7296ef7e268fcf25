// RUN: %farskip-opt %s --outline-kernels --canonicalize | FileCheck %s

// Two equal operations are one kernel.
// CHECK-LABEL: func @two_adds
// CHECK: rt.parallel_for @kernel_0
// CHECK: rt.parallel_for @kernel_0
func.func @two_adds(%a: memref<?x8xf32>, %b: memref<?x8xf32>) {
  linalg.add ins(%a, %b : memref<?x8xf32>, memref<?x8xf32>) outs(%a : memref<?x8xf32>)
  linalg.add ins(%b, %a : memref<?x8xf32>, memref<?x8xf32>) outs(%b : memref<?x8xf32>)
  return
}

// In a product the columns are innermost, and each element is one chain over k.
// CHECK-LABEL: func @product
// CHECK: rt.parallel_for @kernel_1
func.func @product(%a: memref<?x4xf32>, %b: memref<4x8xf32>, %c: memref<?x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x4xf32>, memref<4x8xf32>) outs(%c : memref<?x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = math.fma %x, %y, %z : f32
    linalg.yield %0 : f32
  }
  return
}

// The C library is not called for each number.
// CHECK-LABEL: func @exponential
// CHECK: rt.parallel_for @kernel_2
func.func @exponential(%a: memref<?x4xf32>) {
  linalg.exp ins(%a : memref<?x4xf32>) outs(%a : memref<?x4xf32>)
  return
}

// CHECK-LABEL: func private @kernel_0(%arg0: index, %arg1: index
// CHECK: scf.for %{{.*}} = %arg0 to %arg1
// CHECK-LABEL: func private @kernel_1
// CHECK: scf.for %[[M:.*]] = %arg0 to %arg1
// CHECK: scf.for %[[K:.*]] =
// CHECK: scf.for %[[N:.*]] =
// CHECK: memref.load %{{.*}}[%[[M]], %[[K]]]
// CHECK: memref.load %{{.*}}[%[[K]], %[[N]]]
// CHECK-LABEL: func private @kernel_2
// CHECK-NOT: math.exp
// CHECK: math.fma
