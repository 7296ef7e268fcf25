// RUN: %farskip-opt %s --split-input-file --verify-diagnostics

func.func @packed_shape(%w: tensor<32x96xf32>) {
  // expected-error @+1 {{the packed weight is 'tensor<1x32x64xf32>', wanted 'tensor<2x32x64xf32>'}}
  %0 = moe.pack %w : tensor<32x96xf32> -> tensor<1x32x64xf32>
  return
}

// -----

func.func @weight_rank(%w: tensor<32xf32>) {
  // expected-error @+1 {{the weight has rank 1, wanted 2 or 3}}
  %0 = moe.pack %w : tensor<32xf32> -> tensor<1x32x64xf32>
  return
}

// -----

func.func @element(%x: tensor<?x32xf32>, %w: tensor<2x32x64xi8>, %y: tensor<?x96xf32>) {
  // expected-error @+1 {{element type 'i8' of the weight, wanted f32, f16 or bf16}}
  %0 = moe.product %x, %w into %y : (tensor<?x32xf32>, tensor<2x32x64xi8>, tensor<?x96xf32>) -> tensor<?x96xf32>
  return
}

// -----

func.func @ranks(%x: tensor<?x32xf32>, %w: tensor<32x96xf32>, %y: tensor<?x96xf32>) {
  // expected-error @+1 {{operands have ranks 2, 2, 2, wanted 2, 3, 2}}
  %0 = moe.product %x, %w into %y : (tensor<?x32xf32>, tensor<32x96xf32>, tensor<?x96xf32>) -> tensor<?x96xf32>
  return
}
