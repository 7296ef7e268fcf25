// RUN: %farskip-opt %s --bind-program | FileCheck %s

// Two matrices [5, 20] of 4 bytes an item, the second behind the first, in two panels of 16 columns each; the
// other is there as it is, once more, because it is used so too.
// CHECK: rt.weights = array<i64: 0, 0, 400, 64, 640, 4, 5, 20, 16, 0, 0, 400, 400, 704, 640, 4, 5, 20, 16, 0, 0, 400, 400, 1344, 400, 0, 0, 0, 0, 0>
// CHECK-DAG: rt.weight 64 : memref<2x2x5x16xf32>
// CHECK-DAG: rt.weight 1344 : memref<5x20xf32>
func.func @main() -> (tensor<2x2x5x16xf32>, tensor<5x20xf32>) {
  %a = onnx.weight "a" at 0[0, 400] : tensor<5x20xf32>
  %b = onnx.weight "b" at 0[400, 400] : tensor<5x20xf32>
  %both = moe.stack %a, %b : tensor<5x20xf32>, tensor<5x20xf32> -> tensor<2x5x20xf32>
  %packed = moe.pack %both : tensor<2x5x20xf32> -> tensor<2x2x5x16xf32>
  return %packed, %b : tensor<2x2x5x16xf32>, tensor<5x20xf32>
}
