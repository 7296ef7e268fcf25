// RUN: farskip-opt %s --shard-experts="ranks=2" | FileCheck %s

// Every rank holds all tokens: each computes its own experts' part, an all-reduce sums up.
// CHECK: kind = "all_reduce"
// CHECK-LABEL: func @main
// CHECK: %[[RANK:.*]] = rt.rank
// CHECK: %[[OWN:.*]] = linalg.generic {{.*}} ins(%arg2
// CHECK: moe.exchange_plan %[[OWN]]
// CHECK: moe.combine
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%arg1, %[[OWN]]
// CHECK: %[[ALL:.*]] = moe.all_reduce %[[SUM]]
// CHECK: return %[[ALL]]
module attributes {farskip.replicated} {
  func.func @main(%x: tensor<?x4xf32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi32>, %p: tensor<3x4xf32>) -> tensor<?x4xf32> {
    %y = moe.experts %x, %w, %e params(%p)
        : (tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xi32>, tensor<3x4xf32>) -> tensor<?x4xf32> {
    ^bb0(%rows: tensor<?x4xf32>, %b: tensor<4xf32>):
      moe.yield %rows : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}
