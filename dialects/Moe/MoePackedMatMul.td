// Products with weights of 2, 4 or 8 bits.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_MOE_MOEPACKEDMATMUL_TD
#define FARSKIP_DIALECTS_MOE_MOEPACKEDMATMUL_TD

include "dialects/Moe/MoeBase.td"

def Moe_PackedMatMulOp
    : Moe_Op<"packed_matmul", [DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "rows times block-quantised weights that stay packed";
  let description = [{
    out[m, n] = Σ_k a[m, k] · (q[n, k] − zero[n, block of k]) · scales[n, block of k], in f32. `weights` is N × blocks ×
    bytes of i8: the numbers q of `bits` bits (2, 4 or 8) lie in a block's bytes with the lowest first. `zeros` is
    N × blocks of floats, or N × bytes of i8, packed like the weights; without it zero is 2^(bits − 1).

    `a` is M × K' f32, its columns in the order in which a kernel meets them: the bytes of a block are cut into groups of
    `lanes`; a group's columns are the lowest number of each byte, then the next of each, and so on. Each element of out
    is summed in an order that depends on K' alone.
  }];
  let arguments = (ins Moe_Shaped:$a, Moe_Shaped:$weights, Moe_Shaped:$scales, Optional<Moe_Shaped>:$zeros,
                       Moe_Shaped:$out, I64Attr:$bits);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
    /// How many bytes of a block of `bytes` a kernel takes at once: 16, or the greatest power of two that divides.
    static int64_t lanesOf(int64_t bytes) { return bytes % 16 == 0 ? 16 : bytes & -bytes; }
    int64_t lanes() {
      return lanesOf(::llvm::cast<::mlir::ShapedType>(getWeights().getType()).getDimSize(2));
    }
  }];
}

#endif
