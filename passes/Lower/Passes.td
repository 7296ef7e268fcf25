// Passes of the phases `buffers` and `llvm`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_LOWER_PASSES_TD
#define FARSKIP_PASSES_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseElementwisePass : Pass<"fuse-elementwise"> {
  let summary = "fuse elementwise operations into their single consumers";
  let description = [{
    Upstream's elementwise fusion with a limit on the size of a fused body: without one a chain of n operations is
    rebuilt n times.
  }];
  let options = [Option<"maxBody", "max-body", "int64_t", "48", "operations in a fused body">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::affine::AffineDialect"];
}

def PackWeightsPass : Pass<"pack-weights", "::mlir::ModuleOp"> {
  let summary = "multiply by weights that are packed ahead of time";
  let description = [{
    Products in f32 of a matrix and a weight become `moe.product` with a weight in panels, `moe.pack`. The weight is
    followed through transpositions, widening casts and reshapes that change nothing, and may be one matrix of a weight
    that holds several (the experts'): then the slice is one of the packed weight. A product stays where the second
    factor is no weight.

    ```mlir
    %t = linalg.transpose ins(%w : tensor<96x32xf32>) … permutation = [1, 0]
    %y = linalg.generic … ins(%x, %t : tensor<?x32xf32>, tensor<32x96xf32>) outs(%zero : tensor<?x96xf32>) …
    // becomes
    %p = moe.pack %w {transposed} : tensor<96x32xf32> -> tensor<2x32x64xf32>
    %y = moe.product %x, %p into %out : (tensor<?x32xf32>, tensor<2x32x64xf32>, tensor<?x96xf32>) -> tensor<?x96xf32>
    ```
  }];
  let options = [Option<"lanes", "lanes", "int64_t", "16", "f32 in a vector register">,
                 Option<"width", "width", "int64_t", "64", "columns of a panel">];
  let statistics = [Statistic<"products", "packed-products", "products with packed weights">,
                    Statistic<"weights", "packed-weights", "weights that are packed">];
  let dependentDialects = ["::farskip::moe::MoeDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def BindProgramPass : Pass<"bind-program", "::mlir::ModuleOp"> {
  let summary = "turn the function of tensors into a program that asks the run-time for its inputs and weights";
  let description = [{
    Expects `func @main` over tensors. Arguments become `rt.input`, results `rt.output`, `onnx.weight` becomes `rt.weight`
    with an offset in the weights file, and so does what `moe.stack` and `moe.pack` make of weights. The module's
    attribute `rt.weights` lists what the weights file holds, ten numbers each (`WeightEntry`).

    ```mlir
    func.func @main(%x: tensor<?xf32>) -> tensor<?xf32>
    // becomes
    func.func @farskip_model_run() { %0 = rt.input 0 : memref<?xf32> … rt.output 0, %y : memref<?xf32> }
    ```
  }];
  let statistics = [Statistic<"weights", "weights", "weights bound">,
                    Statistic<"shared", "shared-weights", "weights that stand in the file once for several uses">];
  let dependentDialects = ["::farskip::rt::RtDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LowerPlansPass : Pass<"lower-plans", "::mlir::func::FuncOp"> {
  let summary = "turn what is left of exchange plans into handles of the run-time";
  let description = [{
    After bufferization: `moe.plan_sizes` becomes calls, the casts between plans and futures of the two phases go, and
    each plan is given back after the last wait for an exchange by it.
  }];
  let dependentDialects = ["::farskip::rt::RtDialect"];
}

def PlanArenaPass : Pass<"plan-arena", "::mlir::func::FuncOp"> {
  let summary = "place the buffers of a function in one arena";
  let description = [{
    Buffers whose lifetimes do not overlap share a place. A buffer whose size depends only on the program's inputs gets
    its place at the start of the run, when the extents are known; the others (sizes that the data decides) stay
    `memref.alloc` and are freed after their last use. Views are followed to find the last use.
  }];
  let statistics = [Statistic<"placed", "buffers-in-arena", "buffers placed in the arena">,
                    Statistic<"slots", "arena-slots", "places that the buffers share">,
                    Statistic<"dynamic", "buffers-from-heap", "buffers whose size the data decides">];
  let dependentDialects = ["::farskip::rt::RtDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def LowerModelOpsPass : Pass<"lower-model-ops", "::mlir::ModuleOp"> {
  let summary = "turn moe.attention and moe.packed_matmul on buffers into calls of generated kernels";
  let description = [{
    A kernel of attention works on blocks of query rows of one key head: keys and values are read in blocks that are
    copied into panels of f32 beside it, with the softmax's maximum and sum carried from block to block, so memory does
    not grow with the sequence. A kernel of a packed product unpacks weights in registers, for a few rows at once.
    Operations with equal types and attributes share a kernel.
  }];
  let statistics = [Statistic<"calls", "model-op-calls", "operations lowered">,
                    Statistic<"kernels", "model-op-kernels", "different kernels">];
  let dependentDialects = ["::farskip::rt::RtDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerProductsPass : Pass<"lower-products", "::mlir::ModuleOp"> {
  let summary = "turn matrix products on buffers into calls of generated kernels";
  let description = [{
    `moe.product`, and the products in f32 among the linalg operations. A kernel computes tiles of one to six rows times
    panels of columns; any number of rows is cut into tiles that differ by one row at most. Each element is one chain of
    FMAs over k in order, so a row has the same bits whatever the tiles and the threads. Factors that are no packed
    weights are copied into a panel block by block. Extents and strides are arguments: the number of kernels does not
    grow with the number of layers or of shapes.
  }];
  let options = [Option<"lanes", "lanes", "int64_t", "16", "f32 in a vector register">,
                 Option<"width", "width", "int64_t", "64", "columns of a panel that the kernel packs">];
  let statistics = [Statistic<"calls", "product-calls", "products lowered">,
                    Statistic<"kernels", "product-kernels", "different kernels">];
  let dependentDialects = ["::farskip::rt::RtDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def OutlineKernelsPass : Pass<"outline-kernels", "::mlir::ModuleOp"> {
  let summary = "move each structured operation on buffers into a function of its own, shared where equal";
  let description = [{
    Each linalg operation becomes a call `rt.parallel_for @kernel`, the kernel being loops over a block of the outermost
    parallel dimension. Kernels that are equal but for their operands are one function, so the size of the code does not
    grow with the number of layers. In reductions the innermost loop is the last parallel dimension where that makes the
    accesses contiguous; each element is still one chain in the order of the reduction. exp, tanh, erf and log in f32
    become polynomials. Loops and branches of the entry function that are left become functions too, so that it is one
    block of calls.
  }];
  let statistics = [Statistic<"calls", "kernel-calls", "operations outlined">,
                    Statistic<"kernels", "kernels", "different kernels">,
                    Statistic<"outlinedNests", "nests", "loops and branches moved out of the entry function">];
  let dependentDialects = ["::farskip::rt::RtDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::affine::AffineDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerExpandShapePass : Pass<"lower-expand-shape"> {
  let summary = "write memref.expand_shape as memref.reinterpret_cast";
  let description = [{
    Upstream's expand-strided-metadata (22.1) takes at most one dynamic extent per group and crashes on two; an expansion
    of batch times sequence has two.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def ConvertRtToLLVMPass : Pass<"convert-rt-to-llvm", "::mlir::ModuleOp"> {
  let summary = "turn rt operations into calls of the C interface and thread the context through all functions";
  let description = [{
    Every function gets the run-time's context as first argument. Memrefs pass as descriptors. `memref.alloc` and
    `memref.dealloc` become calls too, so that the run-time reports when there is no memory.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif
