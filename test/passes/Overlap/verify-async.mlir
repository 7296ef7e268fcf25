// RUN: farskip-opt %s --verify-async | FileCheck %s

// CHECK-LABEL: func @good
func.func @good(%x: tensor<?x4xf32>, %to: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %p, %f = moe.all_reduce_start %x outs(%to) {op = 0 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %y = moe.wait %f, %p keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
