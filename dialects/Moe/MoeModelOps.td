// What a mixture-of-experts block computes, on one device.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_MOE_MOEMODELOPS_TD
#define FARSKIP_DIALECTS_MOE_MOEMODELOPS_TD

include "dialects/Moe/MoeBase.td"

def Moe_ExpertsOp
    : Moe_Op<"experts", [Pure, IsolatedFromAbove, SingleBlock, DeclareOpInterfaceMethods<SymbolicShapeOpInterface>]> {
  let summary = "the weighted sum of a token's chosen experts";
  let description = [{
    y[t] = Σ_j weights[t, j] · f_e(x[t]) with e = experts[t, j], summed in slot order j in f32 and rounded once. A slot
    with experts[t, j] = -1 adds nothing. The region is f: its first argument is a number of rows of x, the others are
    one expert's slices of `params`, whose leading axis counts the experts.

    - C1 `x` is T × D, `weights` and `experts` are T × K, every parameter is E × ….
    - C4 the region is row-wise: row i of what it yields depends on row i of its first argument only. It uses nothing
      from outside but constants.

    ```mlir
    %y = moe.experts %x, %w, %e params(%up, %down) : (tensor<?x64xf32>, …) -> tensor<?x64xf32> {
    ^bb0(%rows: tensor<?x64xf32>, %u: tensor<64x128xf32>, %d: tensor<128x64xf32>):
      …
      moe.yield %z : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$weights, AnyRankedTensor:$experts,
                       Variadic<AnyRankedTensor>:$params);
  let results = (outs AnyRankedTensor:$y);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// E
    int64_t expertCount();
    /// K; dynamic counts are refused by the verifier
    int64_t slotCount();
    /// Gives the region's arguments their shapes; `inferShapes` does it too.
    void shapeArguments(::farskip::SymbolicShapes &shapes);
  }];
  let assemblyFormat = [{
    $x `,` $weights `,` $experts `params` `(` $params `)` attr-dict `:` functional-type(operands, results) $body
  }];
}

def Moe_YieldOp : Moe_Op<"yield", [Pure, Terminator, HasParent<"::farskip::moe::ExpertsOp">]> {
  let summary = "what an expert makes of its rows";
  let arguments = (ins AnyRankedTensor:$rows);
  let assemblyFormat = "$rows attr-dict `:` type($rows)";
}

def Moe_StackOp : Moe_Op<"stack", [Pure, SameTypeOperands, DeclareOpInterfaceMethods<SymbolicShapeOpInterface>]> {
  let summary = "equal tensors stacked along a new leading axis";
  let description = [{
    Stands for parameters of experts that the model keeps apart. Operands that are weights of the model become one weight
    of the program, side by side in its file; nothing is copied when it runs.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$parts);
  let results = (outs AnyRankedTensor:$stacked);
  let hasVerifier = 1;
  let assemblyFormat = "$parts attr-dict `:` type($parts) `->` type($stacked)";
}

def Moe_AttendOp
    : Moe_Op<"attend", [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolicShapeOpInterface>]> {
  let summary = "attention that a graph spells in small operators; becomes moe.attention";
  let description = [{
    q is [B, Hq, S, D], k [B, Hkv, T, D], v [B, Hkv, T, Dv], y [B, Hq, S, Dv]. Query row i stands at position i, with
    `at_end` at T − S + i. `causal`, `left`, `softcap`, `sinks` and `unseen` mean what they mean for `moe.attention`. The
    mask is [1 or B, 1 or Hq, 1 or S, T]. Scores of bf16 are rounded as the small operators round them.
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v, Optional<AnyRankedTensor>:$mask,
                       Optional<AnyRankedTensor>:$sinks, F64Attr:$scale, DefaultValuedAttr<F64Attr, "0.0">:$softcap,
                       UnitAttr:$causal, UnitAttr:$at_end, OptionalAttr<I64Attr>:$left,
                       DefaultValuedStrAttr<StrAttr, "zero">:$unseen);
  let results = (outs AnyRankedTensor:$y);
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif
