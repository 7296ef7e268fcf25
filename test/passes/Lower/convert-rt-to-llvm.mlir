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
