// RUN: farskip-opt %s --split-input-file --verify-diagnostics --shard-batch="ranks=2"

// expected-error @below {{cannot be spread over 2 ranks: at node 'sum' (ReduceSum), it brings sequences together; use --ranks=1 or --attention=tensor}}
module {
  func.func @main(%x: tensor<?x4xf32>) -> tensor<4xf32> {
    %axis = "onnx.Constant"() {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
    %y = "onnx.ReduceSum"(%x, %axis) {keepdims = 0 : i64, onnx.node = "sum"} : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

// Positions that start at zero on every rank are no positions in the whole batch.
// expected-error @below {{numbers that count along the batch are used in a way that depends on where it starts}}
module {
  func.func @main(%x: tensor<?x4xf32>) -> tensor<?xi64> {
    %zero = "onnx.Constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
    %one = "onnx.Constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
    %size = "onnx.Shape"(%x) : (tensor<?x4xf32>) -> tensor<2xi64>
    %b = "onnx.Gather"(%size, %zero) {axis = 0 : i64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
    %rows = "onnx.Range"(%zero, %b, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
    %y = "onnx.Mod"(%rows, %one) : (tensor<?xi64>, tensor<i64>) -> tensor<?xi64>
    return %y : tensor<?xi64>
  }
}

// -----

// expected-error @below {{the size of the batch is used as a number}}
module {
  func.func @main(%x: tensor<?x4xi64>) -> tensor<?x4xi64> {
    %zero = "onnx.Constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
    %size = "onnx.Shape"(%x) : (tensor<?x4xi64>) -> tensor<2xi64>
    %b = "onnx.Gather"(%size, %zero) {axis = 0 : i64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
    %y = "onnx.Add"(%x, %b) : (tensor<?x4xi64>, tensor<i64>) -> tensor<?x4xi64>
    return %y : tensor<?x4xi64>
  }
}

// -----

// expected-warning @below {{all extents of the model are fixed, its batch too}}
module {
  func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
    return %x : tensor<2x4xf32>
  }
}

// -----

// How many rows are listed differs between ranks: that number is no value of the whole batch.
// expected-error @below {{the size of the batch is used as a number}}
module {
  func.func @main(%x: tensor<?x4xi64>) -> tensor<?x4xi64> {
    %zero = "onnx.Constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
    %one = "onnx.Constant"() {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
    %places = "onnx.NonZero"(%x) : (tensor<?x4xi64>) -> tensor<2x?xi64>
    %shape = "onnx.Shape"(%places) : (tensor<2x?xi64>) -> tensor<2xi64>
    %count = "onnx.Gather"(%shape, %one) {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
    %y = "onnx.Add"(%x, %count) : (tensor<?x4xi64>, tensor<1xi64>) -> tensor<?x4xi64>
    return %y : tensor<?x4xi64>
  }
}

// -----

// expected-error @below {{it lists what the data chooses}}
module {
  func.func @main(%x: tensor<?x4xf32>) -> tensor<?xf32> {
    %flat = "onnx.Constant"() {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
    %all = "onnx.Reshape"(%x, %flat) : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<?xf32>
    %places = "onnx.NonZero"(%all) : (tensor<?xf32>) -> tensor<1x?xi64>
    %tuples = "onnx.Transpose"(%places) {perm = array<i64: 1, 0>} : (tensor<1x?xi64>) -> tensor<?x1xi64>
    %y = "onnx.GatherND"(%all, %tuples) : (tensor<?xf32>, tensor<?x1xi64>) -> tensor<?xf32>
    return %y : tensor<?xf32>
  }
}
