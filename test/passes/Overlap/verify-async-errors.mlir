// RUN: farskip-opt %s --split-input-file --verify-diagnostics --verify-async

func.func @never(%x: tensor<?x4xf32>, %to: tensor<?x4xf32>) {
  // expected-error @below {{is never waited for}}
  %p, %f = moe.all_reduce_start %x outs(%to) {op = 0 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @twice(%x: tensor<?x4xf32>, %to: tensor<?x4xf32>) {
  // expected-error @below {{is waited for twice}}
  %p, %f = moe.all_reduce_start %x outs(%to) {op = 0 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-note @below {{and here}}
  %y = moe.wait %f, %p keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  %z = moe.wait %f, %p keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @early(%x: tensor<?x4xf32>, %to: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{fills a tensor that is used before it is there}}
  %p, %f = moe.all_reduce_start %x outs(%to) {op = 0 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %y = moe.wait %f, %p keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-note @below {{used here}}
  return %p : tensor<?x4xf32>
}

// -----

func.func @dropped(%x: tensor<?x4xf32>, %to: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{reads a tensor that its wait does not keep}}
  %p, %f = moe.all_reduce_start %x outs(%to) {op = 0 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-note @below {{waited for here}}
  %y = moe.wait %f, %p : tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @crossed(%x: tensor<?x4xf32>, %a: tensor<?x4xf32>, %b: tensor<?x4xf32>) {
  // expected-error @below {{fills a tensor that is used before it is there}}
  %p, %f = moe.all_reduce_start %x outs(%a) {op = 0 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-error @below {{fills a tensor that is used before it is there}}
  %q, %g = moe.all_reduce_start %x outs(%b) {op = 1 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-note @below {{used here}}
  %y = moe.wait %f, %q keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-note @below {{used here}}
  %z = moe.wait %g, %p keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @path(%x: tensor<?x4xf32>, %to: tensor<?x4xf32>, %c: i1) {
  // expected-error @below {{is not waited for on every path}}
  %p, %f = moe.all_reduce_start %x outs(%to) {op = 0 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  scf.if %c {
    // expected-note @below {{waited for here}}
    %y = moe.wait %f, %p keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  }
  return
}

// -----

func.func @branch(%x: tensor<?x4xf32>, %to: tensor<?x4xf32>, %c: i1) {
  scf.if %c {
    // expected-error @below {{stands in a branch or loop: ranks may disagree whether it runs}}
    %p, %f = moe.all_reduce_start %x outs(%to) {op = 0 : i64} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
    %y = moe.wait %f, %p keep(%x : tensor<?x4xf32>) : tensor<?x4xf32> -> tensor<?x4xf32>
  }
  return
}

// -----

func.func @plan(%e: tensor<?x2xi32>, %c: i1) {
  scf.if %c {
    // expected-error @below {{stands in a branch or loop}}
    %plan = moe.exchange_plan %e {expert_count = 3 : i64, op = 0 : i64} : tensor<?x2xi32>
  }
  return
}

// -----

func.func @stranger(%f: !moe.future, %p: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{waits for a future that no start in sight gave}}
  %y = moe.wait %f, %p : tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
