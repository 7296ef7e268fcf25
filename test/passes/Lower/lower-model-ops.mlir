// RUN: %farskip-opt %s --lower-model-ops --canonicalize | FileCheck %s

// Equal attentions share a kernel; another attribute makes another.
// CHECK-LABEL: func @three
// CHECK: rt.parallel_for @attention_0
// CHECK: rt.parallel_for @attention_0
// CHECK: rt.parallel_for @attention_1
func.func @three(%q: memref<?x4x?x64xf32>, %k: memref<?x2x?x64xf32>) {
  moe.attention %q, %k, %k, %q {causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1>}
      : (memref<?x4x?x64xf32>, memref<?x2x?x64xf32>, memref<?x2x?x64xf32>, memref<?x4x?x64xf32>) -> ()
  moe.attention %q, %k, %k, %q {causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1>}
      : (memref<?x4x?x64xf32>, memref<?x2x?x64xf32>, memref<?x2x?x64xf32>, memref<?x4x?x64xf32>) -> ()
  moe.attention %q, %k, %k, %q {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1>}
      : (memref<?x4x?x64xf32>, memref<?x2x?x64xf32>, memref<?x2x?x64xf32>, memref<?x4x?x64xf32>) -> ()
  return
}

// The scratch memory is fixed by the head's size, and no call of the C library is left in the loops.
// CHECK-LABEL: func private @attention_0(%arg0: index, %arg1: index
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<64x48xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<64x64xf32>
// CHECK: scf.for %{{.*}} = %arg0 to %arg1
// CHECK-NOT: math.exp
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK-LABEL: func private @attention_1

// Weights are unpacked in registers: two numbers of 4 bits from each byte.
// CHECK-LABEL: func private @packed_matmul_2(%arg0: index, %arg1: index
// CHECK: vector.load {{.*}} vector<16xi8>
// CHECK: arith.uitofp {{.*}} vector<16xi8> to vector<16xf32>
// CHECK: math.fma
func.func @product(%a: memref<?x64xf32>, %w: memref<8x2x16xi8>, %s: memref<8x2xf32>, %out: memref<?x8xf32>) {
  moe.packed_matmul %a, %w, %s, %out {bits = 4 : i64}
      : (memref<?x64xf32>, memref<8x2x16xi8>, memref<8x2xf32>, memref<?x8xf32>) -> ()
  return
}
