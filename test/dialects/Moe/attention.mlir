// RUN: %farskip-opt %s --split-input-file --verify-diagnostics | %farskip-opt --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @tensors
// CHECK: moe.attention %{{.*}} {causal, left = 3 : i64
func.func @tensors(%q: tensor<?x4x?x8xf32>, %k: tensor<?x2x?x8xf32>, %v: tensor<?x2x?x16xf32>, %sinks: tensor<4xf32>,
                   %out: tensor<?x4x?x16xf32>) -> tensor<?x4x?x16xf32> {
  %0 = moe.attention %q, %k, %v, %sinks, %out {causal, left = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 1>}
      : (tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>, tensor<?x2x?x16xf32>, tensor<4xf32>, tensor<?x4x?x16xf32>)
      -> tensor<?x4x?x16xf32>
  return %0 : tensor<?x4x?x16xf32>
}
