// RUN: farskip-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func @experts
func.func @experts(%x: tensor<?x4xf32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi64>, %up: tensor<3x4x8xf32>,
                   %down: tensor<3x8x4xf32>) -> tensor<?x4xf32> {
  // CHECK: moe.experts %{{.*}}, %{{.*}}, %{{.*}} params(%{{.*}}, %{{.*}})
  %y = moe.experts %x, %w, %e params(%up, %down)
      : (tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xi64>, tensor<3x4x8xf32>, tensor<3x8x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%rows: tensor<?x4xf32>, %u: tensor<4x8xf32>, %d: tensor<8x4xf32>):
    %h = "onnx.MatMul"(%rows, %u) : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
    %z = "onnx.MatMul"(%h, %d) : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    // CHECK: moe.yield %{{.*}} : tensor<?x4xf32>
    moe.yield %z : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}

// CHECK-LABEL: func @stack
func.func @stack(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<2x4x8xf32> {
  // CHECK: moe.stack %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<2x4x8xf32>
  %s = moe.stack %a, %b : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<2x4x8xf32>
  return %s : tensor<2x4x8xf32>
}

// CHECK-LABEL: func @exchanges
func.func @exchanges(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %to: tensor<?x4xf32>, %back: tensor<?x2x4xf32>,
                     %offsets: tensor<4xi64>, %rows: tensor<?xi64>) -> tensor<?x2x4xf32> {
  // CHECK: %[[PLAN:.*]] = moe.exchange_plan %{{.*}} {expert_count = 3 : i64, op = 0 : i64} : tensor<?x2xi32>
  %plan = moe.exchange_plan %e {expert_count = 3 : i64, op = 0 : i64} : tensor<?x2xi32>
  // CHECK: moe.plan_sizes %[[PLAN]]
  %received, %pairs = moe.plan_sizes %plan
  // CHECK: moe.plan_groups %[[PLAN]] outs
  %o, %r = moe.plan_groups %plan outs(%offsets, %rows : tensor<4xi64>, tensor<?xi64>) : tensor<4xi64>, tensor<?xi64>
  // CHECK: moe.dispatch %{{.*}} by %[[PLAN]] outs(%{{.*}}) {op = 1 : i64}
  %there = moe.dispatch %x by %plan outs(%to) {op = 1 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // CHECK: %[[PENDING:.*]], %[[FUTURE:.*]] = moe.combine_start %[[THERE:.*]] by %[[PLAN]] outs
  %p, %f = moe.combine_start %there by %plan outs(%back) {op = 2 : i64}
      : tensor<?x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  // CHECK: moe.wait %[[FUTURE]], %[[PENDING]] keep(%[[THERE]] : tensor<?x4xf32>)
  %y = moe.wait %f, %p keep(%there : tensor<?x4xf32>) : tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  return %y : tensor<?x2x4xf32>
}

// CHECK-LABEL: func @sum
func.func @sum(%x: tensor<?x4xf32>, %to: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: moe.all_reduce %{{.*}} outs(%{{.*}}) {op = 0 : i64}
  %y = moe.all_reduce %x outs(%to) {op = 0 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
