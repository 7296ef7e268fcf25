// RUN: farskip-opt %s --shard-experts="ranks=4" | FileCheck %s
// RUN: farskip-opt %s --shard-experts="ranks=1" | FileCheck %s --check-prefix=ONE

// CHECK: moe.collectives = [{kind = "plan", name = "moe"}, {kind = "dispatch", name = "moe"}, {kind = "combine", name = "moe"}]
// CHECK-LABEL: func @main
// CHECK: %[[PLAN:.*]] = moe.exchange_plan %{{.*}} {expert_count = 3 : i64, op = 0 : i64}
// CHECK: %[[RECEIVED:.*]], %[[PAIRS:.*]] = moe.plan_sizes %[[PLAN]]
// CHECK: %[[OFFSETS:.*]], %[[ROWS:.*]] = moe.plan_groups %[[PLAN]]
// CHECK: %[[THERE:.*]] = moe.dispatch %arg0 by %[[PLAN]]
// CHECK: %[[GROUPED:.*]] = linalg.generic {{.*}} ins(%[[ROWS]]
// CHECK: tensor.extract %[[THERE]]
// CHECK: %[[DONE:.*]] = scf.for %[[EXPERT:.*]] = %{{.*}} to %{{.*}}
// CHECK: tensor.extract %[[OFFSETS]][%[[EXPERT]]]
// CHECK: tensor.extract_slice %[[GROUPED]]
// CHECK: tensor.extract_slice %arg3[%[[EXPERT]], 0, 0] [1, 4, 4] [1, 1, 1] : tensor<3x4x4xf32> to tensor<4x4xf32>
// CHECK: linalg.matmul
// CHECK: tensor.insert_slice
// CHECK: moe.combine %[[DONE]] by %[[PLAN]]
// CHECK: linalg.generic {{.*}}"parallel", "parallel", "reduction"

// One rank: no dispatch, everything else is the same.
// ONE-LABEL: func @main
// ONE: moe.exchange_plan
// ONE-NOT: moe.dispatch
// ONE: tensor.extract %arg0
// ONE: moe.combine
func.func @main(%x: tensor<?x4xf32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi32>, %p: tensor<3x4x4xf32>) -> tensor<?x4xf32> {
  %y = moe.experts %x, %w, %e params(%p) {onnx.node = "moe"}
      : (tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xi32>, tensor<3x4x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%rows: tensor<?x4xf32>, %m: tensor<4x4xf32>):
    %c0 = arith.constant 0 : index
    %n = tensor.dim %rows, %c0 : tensor<?x4xf32>
    %init = tensor.empty(%n) : tensor<?x4xf32>
    %z = linalg.matmul ins(%rows, %m : tensor<?x4xf32>, tensor<4x4xf32>) outs(%init : tensor<?x4xf32>) -> tensor<?x4xf32>
    moe.yield %z : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}
