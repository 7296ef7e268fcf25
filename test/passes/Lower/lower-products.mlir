// RUN: %farskip-opt %s --lower-products --canonicalize | FileCheck %s

// Shapes are arguments: both products with panels of 64 columns share a kernel, and a slice is an argument like any.
// CHECK-LABEL: func @packed
// CHECK: rt.parallel_for @product_0
// CHECK: rt.parallel_for @product_0
// CHECK: rt.parallel_for @product_1
func.func @packed(%x: memref<?x32xf32>, %y: memref<7x1000xf32>, %w: memref<2x32x64xf32>, %v: memref<3x2x1000x64xf32>,
                  %e: index, %out: memref<?x96xf32>, %small: memref<?x10xf32>, %u: memref<1x32x16xbf16>) {
  moe.product %x, %w into %out : (memref<?x32xf32>, memref<2x32x64xf32>, memref<?x96xf32>) -> ()
  %s = memref.subview %v[%e, 0, 0, 0] [1, 2, 1000, 64] [1, 1, 1, 1]
      : memref<3x2x1000x64xf32> to memref<2x1000x64xf32, strided<[64000, 64, 1], offset: ?>>
  moe.product %y, %s into %out
      : (memref<7x1000xf32>, memref<2x1000x64xf32, strided<[64000, 64, 1], offset: ?>>, memref<?x96xf32>) -> ()
  moe.product %x, %u into %small : (memref<?x32xf32>, memref<1x32x16xbf16>, memref<?x10xf32>) -> ()
  return
}

#am = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#bm = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#cm = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>

// A product of activations: keys that several heads share, used as rows.
// CHECK-LABEL: func @scores
// CHECK-NOT: linalg
// CHECK: rt.parallel_for @product_2
func.func @scores(%q: memref<?x4x?x16xf32>, %k: memref<?x?x16xf32>, %s: memref<?x4x?x?xf32>) {
  linalg.generic {indexing_maps = [#am, #bm, #cm],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : memref<?x4x?x16xf32>, memref<?x?x16xf32>) outs(%s : memref<?x4x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = math.fma %a, %b, %c : f32
    linalg.yield %p : f32
  }
  return
}

// One vector of a panel at a time, and as many rows as the tile has, one FMA chain each.
// CHECK-LABEL: func private @product_0(%arg0: index, %arg1: index, %arg2: memref<?x?xf32
// CHECK: scf.index_switch
// CHECK: case 6
// CHECK: memref.prefetch
// CHECK: vector.load {{.*}} : memref<?x?x64xf32
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: vector.maskedstore
// The narrow weight is widened in the kernel.
// CHECK-LABEL: func private @product_1
// CHECK: arith.extf %{{.*}} : vector<16xbf16> to vector<16xf32>
// The other is copied into a panel of a fixed size.
// CHECK-LABEL: func private @product_2
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<1024x64xf32>
