// Attention.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_MOE_MOEATTENTION_TD
#define FARSKIP_DIALECTS_MOE_MOEATTENTION_TD

include "dialects/Moe/MoeBase.td"

def Moe_AttentionOp
    : Moe_Op<"attention", [AttrSizedOperandSegments, DestinationStyleOpInterface,
                           DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "softmax(scale · q · kᵀ + mask) · v, for each head";
  let description = [{
    q is [B, Hq, S, D], k [B, Hkv, T, D], v [B, Hkv, T, Dv], out [B, Hq, S, Dv]; with `q_rows_first` q and out are
    [B, S, H, …], with `kv_rows_first` k and v are [B, T, H, …]. Query head h reads key head h / (Hq / Hkv).

    Query row i of sequence b stands at position p = offsets[b] + i (offsets is 0 where absent) and sees key j when
    j < lengths[b] (T where absent), with `causal` j ≤ p, with `left` j ≥ p − left, with `right` j ≤ p + right, and where
    the mask allows it. Without `scale` it is 1/√D. The mask is [1 or B, 1 or Hq, 1 or S, M]: i1 (true allows) or a float that is added; keys from M on
    are not seen. Before it is masked, a score x becomes softcap · tanh(x / softcap) when softcap is not 0.

    `sinks` [Hq] are the logits of one more key per head whose value is zero; `smooth` makes that logit 0. What a row that
    sees no key becomes, sink apart, `unseen` says: "zero"; "mean", the mean of the T values (all scores were equal,
    however low); or "nan" (all were −∞).

    Scores and sums are in f32 (f64 for f64); the result is rounded once. With `rounded`, a score is rounded to q's type
    before and after it is scaled, as a graph of operators of that type does. A row of the result depends on its own query,
    the keys and the values alone: same bits whatever the other rows and the threads.
  }];
  let arguments = (ins Moe_Shaped:$q, Moe_Shaped:$k, Moe_Shaped:$v, Optional<Moe_Shaped>:$offsets,
                       Optional<Moe_Shaped>:$lengths, Optional<Moe_Shaped>:$mask, Optional<Moe_Shaped>:$sinks,
                       Moe_Shaped:$out, OptionalAttr<F64Attr>:$scale, DefaultValuedAttr<F64Attr, "0.0">:$softcap,
                       UnitAttr:$causal, OptionalAttr<I64Attr>:$left, OptionalAttr<I64Attr>:$right, UnitAttr:$smooth,
                       UnitAttr:$q_rows_first, UnitAttr:$kv_rows_first,
                       DefaultValuedStrAttr<StrAttr, "zero">:$unseen, UnitAttr:$rounded);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
  }];
}

#endif
