// RUN: farskip-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<2x3x4xf32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi64>, %p: tensor<3x4xf32>) {
  // expected-error @below {{wants x as T x D and weights and experts as T x K}}
  %y = moe.experts %x, %w, %e params(%p)
      : (tensor<2x3x4xf32>, tensor<?x2xf32>, tensor<?x2xi64>, tensor<3x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%rows: tensor<?x4xf32>, %b: tensor<4xf32>):
    moe.yield %rows : tensor<?x4xf32>
  }
  return
}

// -----

func.func @slots(%x: tensor<?x4xf32>, %w: tensor<?x3xf32>, %e: tensor<?x2xi64>, %p: tensor<3x4xf32>) {
  // expected-error @below {{has 3 weights and 2 experts per token}}
  %y = moe.experts %x, %w, %e params(%p)
      : (tensor<?x4xf32>, tensor<?x3xf32>, tensor<?x2xi64>, tensor<3x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%rows: tensor<?x4xf32>, %b: tensor<4xf32>):
    moe.yield %rows : tensor<?x4xf32>
  }
  return
}

// -----

func.func @unequal(%x: tensor<?x4xf32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi64>, %p: tensor<3x4xf32>, %q: tensor<2x4xf32>) {
  // expected-error @below {{parameter of type 'tensor<2x4xf32>' does not have one slice for each of 3 experts}}
  %y = moe.experts %x, %w, %e params(%p, %q)
      : (tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xi64>, tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%rows: tensor<?x4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    moe.yield %rows : tensor<?x4xf32>
  }
  return
}

// -----

func.func @argument(%x: tensor<?x4xf32>, %w: tensor<?x2xf32>, %e: tensor<?x2xi64>, %p: tensor<3x4xf32>) {
  // expected-error @below {{region argument of type 'tensor<5xf32>' is no slice of a parameter of type 'tensor<3x4xf32>'}}
  %y = moe.experts %x, %w, %e params(%p)
      : (tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xi64>, tensor<3x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%rows: tensor<?x4xf32>, %b: tensor<5xf32>):
    moe.yield %rows : tensor<?x4xf32>
  }
  return
}

// -----

func.func @mixed(%x: tensor<?x4xf32>, %w: tensor<?x2xf32>, %e: tensor<?x2xf32>, %p: tensor<3x4xf32>) {
  // expected-error @below {{wants integers that number the experts, not 'f32'}}
  %y = moe.experts %x, %w, %e params(%p)
      : (tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<3x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%rows: tensor<?x4xf32>, %b: tensor<4xf32>):
    moe.yield %rows : tensor<?x4xf32>
  }
  return
}

// -----

func.func @stack(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // expected-error @below {{stacks 2 tensors of type 'tensor<4x8xf32>', but gives 'tensor<3x4x8xf32>'}}
  %s = moe.stack %a, %b : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<3x4x8xf32>
  return
}
