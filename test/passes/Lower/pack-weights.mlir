// RUN: %farskip-opt %s --pack-weights --canonicalize --split-input-file | FileCheck %s
// RUN: %farskip-opt %s --pack-weights="lanes=8 width=16" --canonicalize --split-input-file | FileCheck %s --check-prefix=AVX2

#xm = affine_map<(d0, d1, d2) -> (d0, d2)>
#wm = affine_map<(d0, d1, d2) -> (d2, d1)>
#ym = affine_map<(d0, d1, d2) -> (d0, d1)>

// A transposed weight is packed from where it stands, and followed through the transposition.
// CHECK-LABEL: func @transposed
// CHECK-NOT: linalg
// CHECK: %[[W:.*]] = moe.pack %{{.*}} {transposed} : tensor<96x32xf32> -> tensor<2x32x64xf32>
// CHECK: moe.product %arg0, %[[W]] into %{{.*}} : (tensor<?x32xf32>, tensor<2x32x64xf32>, tensor<?x96xf32>) -> tensor<?x96xf32>
// AVX2: tensor<96x32xf32> -> tensor<6x32x16xf32>
func.func @transposed(%x: tensor<?x32xf32>, %rows: index) -> tensor<?x96xf32> {
  %zero = arith.constant 0.0 : f32
  %w = onnx.weight "w" at 0[0, 12288] : tensor<96x32xf32>
  %e = tensor.empty() : tensor<32x96xf32>
  %t = linalg.transpose ins(%w : tensor<96x32xf32>) outs(%e : tensor<32x96xf32>) permutation = [1, 0]
  %o = tensor.empty(%rows) : tensor<?x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<?x96xf32>) -> tensor<?x96xf32>
  %y = linalg.generic {indexing_maps = [#xm, #wm, #ym], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %t : tensor<?x32xf32>, tensor<32x96xf32>) outs(%f : tensor<?x96xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = math.fma %a, %b, %c : f32
    linalg.yield %s : f32
  } -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

#xm = affine_map<(d0, d1, d2) -> (d0, d2)>
#wm = affine_map<(d0, d1, d2) -> (d2, d1)>
#ym = affine_map<(d0, d1, d2) -> (d0, d1)>

// One expert of several: a slice of the packed weight. Narrow factors: the weight is widened by the kernel, the other
// before.
// CHECK-LABEL: func @expert
// CHECK: %[[W:.*]] = moe.pack %{{.*}} : tensor<4x32x40xf16> -> tensor<4x1x32x48xf16>
// CHECK-DAG: %[[S:.*]] = tensor.extract_slice %[[W]][%arg1, 0, 0, 0] [1, 1, 32, 48] [1, 1, 1, 1]
// CHECK-DAG: %[[X:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<?x32xf16>)
// CHECK: moe.product %[[X]], %[[S]] into
func.func @expert(%x: tensor<?x32xf16>, %e: index, %rows: index) -> tensor<?x40xf32> {
  %zero = arith.constant 0.0 : f32
  %w = onnx.weight "w" at 0[0, 10240] : tensor<4x32x40xf16>
  %s = tensor.extract_slice %w[%e, 0, 0] [1, 32, 40] [1, 1, 1] : tensor<4x32x40xf16> to tensor<32x40xf16>
  %o = tensor.empty(%rows) : tensor<?x40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<?x40xf32>) -> tensor<?x40xf32>
  %y = linalg.generic {indexing_maps = [#xm, #wm, #ym], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %s : tensor<?x32xf16>, tensor<32x40xf16>) outs(%f : tensor<?x40xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %p = math.fma %a32, %b32, %c : f32
    linalg.yield %p : f32
  } -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// -----

#xm = affine_map<(d0, d1, d2) -> (d0, d2)>
#wm = affine_map<(d0, d1, d2) -> (d2, d1)>
#ym = affine_map<(d0, d1, d2) -> (d0, d1)>

// Half of a weight's rows is no matrix that is packed; nor is a product that adds to something.
// CHECK-LABEL: func @others
// CHECK-NOT: moe.
// CHECK: return
func.func @others(%x: tensor<?x16xf32>, %z: tensor<?x96xf32>, %rows: index) -> (tensor<?x96xf32>, tensor<?x96xf32>) {
  %zero = arith.constant 0.0 : f32
  %w = onnx.weight "w" at 0[0, 12288] : tensor<32x96xf32>
  %s = tensor.extract_slice %w[16, 0] [16, 96] [1, 1] : tensor<32x96xf32> to tensor<16x96xf32>
  %o = tensor.empty(%rows) : tensor<?x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<?x96xf32>) -> tensor<?x96xf32>
  %y = linalg.generic {indexing_maps = [#xm, #wm, #ym], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %s : tensor<?x16xf32>, tensor<16x96xf32>) outs(%f : tensor<?x96xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = math.fma %a, %b, %c : f32
    linalg.yield %p : f32
  } -> tensor<?x96xf32>
  %v = onnx.weight "v" at 0[0, 6144] : tensor<16x96xf32>
  %u = linalg.generic {indexing_maps = [#xm, #wm, #ym], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %v : tensor<?x16xf32>, tensor<16x96xf32>) outs(%z : tensor<?x96xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = math.fma %a, %b, %c : f32
    linalg.yield %p : f32
  } -> tensor<?x96xf32>
  return %y, %u : tensor<?x96xf32>, tensor<?x96xf32>
}
