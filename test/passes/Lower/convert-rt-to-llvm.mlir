// RUN: %farskip-opt %s --convert-rt-to-llvm | FileCheck %s

// Memory whose size the data decides is asked of the run-time, with the context in front.
// CHECK-LABEL: func @heap(%arg0: !llvm.ptr, %arg1: index)
// CHECK: %[[BYTES:.*]] = llvm.mul
// CHECK: %[[BASE:.*]] = llvm.call @farskip_rt_buffer_alloc(%arg0, %{{.*}}) : (!llvm.ptr, i64) -> !llvm.ptr
// CHECK: llvm.call @farskip_rt_buffer_free(%arg0, %{{.*}}) : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK-NOT: memref.alloc
func.func @heap(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1.0 : f32
  %a = memref.alloc(%n) : memref<?x4xf32>
  memref.store %c1, %a[%c0, %c0] : memref<?x4xf32>
  memref.dealloc %a : memref<?x4xf32>
  return
}

// Checks are calls, equal ones of one function, so that the caller stays one block.
// CHECK-LABEL: func @checks
// CHECK-NOT: scf.if
// CHECK: call @[[CHECK:check_[0-9]+]](%arg0, %arg1,
// CHECK: call @[[CHECK]](%arg0, %arg2,
// CHECK: return
// CHECK: func private @[[CHECK]](%arg0: !llvm.ptr, %arg1: i1, %arg2: i64)
// CHECK: scf.if
// CHECK: llvm.call @farskip_rt_run_fail
func.func @checks(%a: i1, %b: i1, %n: index) {
  rt.check %a, "extent {0} is odd"(%n)
  rt.check %b, "extent {0} is odd"(%n)
  return
}
