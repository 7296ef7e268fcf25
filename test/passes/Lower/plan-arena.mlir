// RUN: %farskip-opt %s --plan-arena | FileCheck %s

// The first and the third buffer are never alive together: they share a place. Sizes are known from an input's extent.
// CHECK-LABEL: func @shared
// CHECK: rt.input 0
// CHECK: %[[ARENA:.*]] = rt.arena
// CHECK: %[[A:.*]] = memref.view %[[ARENA]][%[[FIRST:.*]]][%{{.*}}]
// CHECK: %[[B:.*]] = memref.view %[[ARENA]][%[[SECOND:.*]]][%{{.*}}]
// CHECK: %[[C:.*]] = memref.view %[[ARENA]][%[[FIRST]]][%{{.*}}]
// CHECK-NOT: memref.alloc
func.func @shared() {
  %c0 = arith.constant 0 : index
  %in = rt.input 0 : memref<?xf32>
  %n = memref.dim %in, %c0 : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  linalg.copy ins(%in : memref<?xf32>) outs(%a : memref<?xf32>)
  %b = memref.alloc(%n) : memref<?xf32>
  linalg.copy ins(%a : memref<?xf32>) outs(%b : memref<?xf32>)
  %c = memref.alloc(%n) : memref<?xf32>
  linalg.copy ins(%b : memref<?xf32>) outs(%c : memref<?xf32>)
  rt.output 0, %c : memref<?xf32>
  return
}

// A size that the data decides stays on the heap and is freed after its last use.
// CHECK-LABEL: func @data_dependent
// CHECK: %[[H:.*]] = memref.alloc(%{{.*}})
// CHECK: rt.output 0, %[[H]]
// CHECK-NEXT: memref.dealloc %[[H]]
func.func @data_dependent() {
  %c0 = arith.constant 0 : index
  %in = rt.input 0 : memref<4xindex>
  %n = memref.load %in[%c0] : memref<4xindex>
  %a = memref.alloc(%n) : memref<?xf32>
  rt.output 0, %a : memref<?xf32>
  return
}
