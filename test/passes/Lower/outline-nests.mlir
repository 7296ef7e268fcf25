// RUN: %farskip-opt %s --outline-kernels --canonicalize | FileCheck %s

// Loops of the entry function become functions, shared where equal; what they give is returned.
// CHECK-LABEL: func @farskip_model_run
// CHECK-NOT: scf.
// CHECK: %[[A:.*]] = call @nest_0
// CHECK: %[[B:.*]] = call @nest_0
// CHECK: return
func.func @farskip_model_run() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = rt.input 0 : memref<?xi64>
  %b = rt.input 1 : memref<?xi64>
  %some = arith.constant false
  %n = memref.dim %a, %c0 : memref<?xi64>
  %x = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (index) {
    %v = memref.load %a[%i] : memref<?xi64>
    %w = arith.index_cast %v : i64 to index
    %t = arith.addi %s, %w : index
    scf.yield %t : index
  }
  %y = scf.for %i = %c0 to %x step %c1 iter_args(%s = %c0) -> (index) {
    %v = memref.load %b[%i] : memref<?xi64>
    %w = arith.index_cast %v : i64 to index
    %t = arith.addi %s, %w : index
    scf.yield %t : index
  }
  rt.check %some, "{0}"(%y)
  return
}
