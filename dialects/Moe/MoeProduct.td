// Matrix products with weights that are packed ahead of time.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_MOE_MOEPRODUCT_TD
#define FARSKIP_DIALECTS_MOE_MOEPRODUCT_TD

include "dialects/Moe/MoeBase.td"

def Moe_PackOp : Moe_Op<"pack", [Pure]> {
  let summary = "a weight in the order in which the kernels of products read it";
  let description = [{
    `weight` is [K, N], with `transposed` [N, K], or E such matrices. `packed` is [⌈N / n0⌉, K, n0] for each of them:
    panel p holds columns p·n0 to p·n0 + n0 − 1, zeros behind the last. Nothing is packed when the program runs: the
    compiler writes the file of weights in this order.
  }];
  let arguments = (ins AnyStaticShapeTensor:$weight, UnitAttr:$transposed);
  let results = (outs AnyStaticShapeTensor:$packed);
  let hasVerifier = 1;
  let assemblyFormat = "$weight attr-dict `:` type($weight) `->` type($packed)";
  let extraClassDeclaration = [{
    /// K and N of one matrix.
    int64_t rows();
    int64_t columns();
  }];
}

def Moe_ProductOp
    : Moe_Op<"product", [DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "out = x · w, with w packed";
  let description = [{
    x is f32 [M, K], w [⌈N / n0⌉, K, n0] in panels (see `moe.pack`) of f32, f16 or bf16, out f32 [M, N]. What out holds
    before is not read. Each element is one chain of FMAs over K from zero in f32: a row of out has the same bits
    whatever the other rows, the tiles and the threads.
  }];
  let arguments = (ins Moe_Shaped:$x, Moe_Shaped:$w, Moe_Shaped:$out);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$x `,` $w `into` $out attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
  }];
}

#endif
