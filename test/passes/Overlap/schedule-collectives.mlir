// RUN: farskip-opt %s --schedule-collectives="link-bytes=1e6" | FileCheck %s

// The product needs nothing of the exchange: it runs between start and wait.
// CHECK-LABEL: func @hide
// CHECK: moe.dispatch_start
// CHECK: linalg.matmul
// CHECK: moe.wait
func.func @hide(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %to: tensor<?x4xf32>, %a: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<?x4xf32>) {
  %plan = moe.exchange_plan %e {expert_count = 3 : i64, op = 0 : i64} : tensor<?x2xi32>
  %p, %f = moe.dispatch_start %x by %plan outs(%to) {op = 1 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %y = moe.wait %f, %p keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  %b = linalg.matmul ins(%a, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%a : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %b, %y : tensor<64x64xf32>, tensor<?x4xf32>
}

// What reads at computed places stays behind the check that makes it safe, also where both move.
// CHECK-LABEL: func @checks
// CHECK: rt.check %{{.*}}, "first"
// CHECK: linalg.generic
// CHECK: moe.wait
func.func @checks(%x: tensor<?x4xf32>, %e: tensor<?x2xi32>, %to: tensor<?x4xf32>, %a: tensor<64xf32>, %t: tensor<64x64xf32>, %i: index) -> (tensor<64x64xf32>, tensor<?x4xf32>) {
  %plan = moe.exchange_plan %e {expert_count = 3 : i64, op = 0 : i64} : tensor<?x2xi32>
  %p, %f = moe.dispatch_start %x by %plan outs(%to) {op = 1 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %y = moe.wait %f, %p keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  %c64 = arith.constant 64 : index
  %in = arith.cmpi ult, %i, %c64 : index
  rt.check %in, "first"
  %b = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      outs(%t : tensor<64x64xf32>) {
  ^bb0(%old: f32):
    %v = tensor.extract %a[%i] : tensor<64xf32>
    linalg.yield %v : f32
  } -> tensor<64x64xf32>
  return %b, %y : tensor<64x64xf32>, tensor<?x4xf32>
}
