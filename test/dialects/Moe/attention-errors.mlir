// RUN: %farskip-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: memref<4x8xf32>, %k: memref<1x4x4x8xf32>) {
  // expected-error @+1 {{an operand has rank 2, wanted 4}}
  moe.attention %q, %k, %k, %k {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1>}
      : (memref<4x8xf32>, memref<1x4x4x8xf32>, memref<1x4x4x8xf32>, memref<1x4x4x8xf32>) -> ()
  return
}

// -----

func.func @types(%q: memref<1x4x4x8xf16>, %k: memref<1x4x4x8xf32>) {
  // expected-error @+1 {{element types 'f16' and 'f32' differ}}
  moe.attention %q, %k, %k, %k {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1>}
      : (memref<1x4x4x8xf16>, memref<1x4x4x8xf32>, memref<1x4x4x8xf32>, memref<1x4x4x8xf32>) -> ()
  return
}

// -----

func.func @sinks(%q: memref<1x4x4x8xf32>, %s: memref<4xf32>) {
  // expected-error @+1 {{sinks and smooth exclude each other}}
  moe.attention %q, %q, %q, %s, %q {smooth, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 1>}
      : (memref<1x4x4x8xf32>, memref<1x4x4x8xf32>, memref<1x4x4x8xf32>, memref<4xf32>, memref<1x4x4x8xf32>) -> ()
  return
}
