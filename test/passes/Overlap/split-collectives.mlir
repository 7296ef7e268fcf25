// RUN: farskip-opt %s --moe-split-collectives | FileCheck %s

// CHECK-LABEL: func @main
// CHECK: %[[P:.*]], %[[F:.*]] = moe.dispatch_start %arg0 by %[[PLAN:.*]] outs(%arg2) {op = 1 : i64}
// CHECK-NEXT: %[[Y:.*]] = moe.wait %[[F]], %[[P]] keep(%arg0 : tensor<?x4xf32>)
// CHECK: %[[P2:.*]], %[[F2:.*]] = moe.all_reduce_start %[[Y]] outs(%arg3)
// CHECK-NEXT: %[[Z:.*]] = moe.wait %[[F2]], %[[P2]] keep(%[[Y]] : tensor<?x4xf32>)
// CHECK: return %[[Z]]
func.func @main(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %to: tensor<?x4xf32>, %sum: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %plan = moe.exchange_plan %e {expert_count = 3 : i64, op = 0 : i64} : tensor<?x2xi32>
  %y = moe.dispatch %x by %plan outs(%to) {op = 1 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %z = moe.all_reduce %y outs(%sum) {op = 2 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}
