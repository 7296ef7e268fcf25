// How rows move between ranks. Blocking here; `moe-split-collectives` makes start and wait of them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_MOE_MOEEXCHANGEOPS_TD
#define FARSKIP_DIALECTS_MOE_MOEEXCHANGEOPS_TD

include "dialects/Moe/MoeBase.td"

def Moe_ExchangePlanOp : Moe_Op<"exchange_plan", [MemoryEffects<[MemRead<Moe_WorldResource>, MemWrite<Moe_WorldResource>]>]> {
  let summary = "decide which rows go where; the ranks exchange counts";
  let description = [{
    Rank r owns a contiguous block of the E experts, blocks differing by at most one expert. A token goes to each rank
    that owns at least one of its experts, once (`overlap.md` section 3, 6). `op` is the number of this collective in the
    program's table. C5: every rank runs it, whatever its counts.
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$experts, I64Attr:$expert_count, I64Attr:$op);
  let results = (outs Moe_PlanType:$plan);
  let assemblyFormat = "$experts attr-dict `:` type($experts)";
}

def Moe_PlanSizesOp : Moe_Op<"plan_sizes", [Pure]> {
  let summary = "how many rows this rank receives, and how many (row, expert) pairs it computes";
  let arguments = (ins Moe_PlanType:$plan);
  let results = (outs Index:$received, Index:$pairs);
  let assemblyFormat = "$plan attr-dict";
}

def Moe_PlanGroupsOp : Moe_Op<"plan_groups", [DestinationStyleOpInterface]> {
  let summary = "the pairs of this rank, grouped by expert";
  let description = [{
    `offsets` has E + 1 elements: the pairs of expert e are [offsets[e], offsets[e + 1]), none for the experts of other
    ranks. `rows` tells the received row of each pair.
  }];
  let arguments = (ins Moe_PlanType:$plan, Variadic<AnyRankedTensor>:$inits);
  let results = (outs RankedTensorOf<[I64]>:$offsets, RankedTensorOf<[I64]>:$rows);
  let assemblyFormat = "$plan `outs` `(` $inits `:` type($inits) `)` attr-dict `:` type(results)";
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }";
}

// An exchange that reads `source` and fills `init`.
class Moe_PlannedExchange<string mnemonic>
    : Moe_Op<mnemonic, [DestinationStyleOpInterface,
                        MemoryEffects<[MemRead<Moe_WorldResource>, MemWrite<Moe_WorldResource>]>]> {
  let arguments = (ins AnyRankedTensor:$source, Moe_PlanType:$plan, AnyRankedTensor:$init, I64Attr:$op);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `by` $plan `outs` `(` $init `)` attr-dict `:` type($source) `,` type($init) `->` type($result)";
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }";
}

def Moe_DispatchOp : Moe_PlannedExchange<"dispatch"> {
  let summary = "each token's row to the ranks that own its experts, one copy per rank";
  let description = "The result's rows are ordered by source rank, then token; its number of rows is `plan_sizes`' first.";
}

def Moe_CombineOp : Moe_PlannedExchange<"combine"> {
  let summary = "the experts' results back to the tokens' owners";
  let description = [{
    `source` has one row per pair in the order of `plan_groups`; the result is T × K × D, one row per token and slot, not
    yet weighted: the owner sums them in slot order, so the sum has the same bits for every number of ranks.
  }];
}

class Moe_WorldExchange<string mnemonic, list<Trait> traits = []>
    : Moe_Op<mnemonic, [DestinationStyleOpInterface,
                        MemoryEffects<[MemRead<Moe_WorldResource>, MemWrite<Moe_WorldResource>]>] # traits> {
  let arguments = (ins AnyRankedTensor:$source, AnyRankedTensor:$init, I64Attr:$op);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `outs` `(` $init `)` attr-dict `:` type($source) `,` type($init) `->` type($result)";
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }";
}

def Moe_AllReduceOp : Moe_WorldExchange<"all_reduce"> {
  let summary = "the sum over ranks, rank 0 first (C6); f16 and bf16 are summed in f32 and rounded once";
}

// Start and wait.

class Moe_Start<string mnemonic, dag plan>
    : Moe_Op<mnemonic, [DestinationStyleOpInterface,
                        MemoryEffects<[MemRead<Moe_WorldResource>, MemWrite<Moe_WorldResource>]>]> {
  let arguments = !con((ins AnyRankedTensor:$source), plan, (ins AnyRankedTensor:$init, I64Attr:$op));
  let results = (outs AnyRankedTensor:$pending, Moe_FutureType:$future);
  let description = [{
    `pending` is the tensor that is being filled: nothing but the wait may use it (C9).
  }];
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }";
}

class Moe_PlannedStart<string mnemonic> : Moe_Start<mnemonic, (ins Moe_PlanType:$plan)> {
  let assemblyFormat = "$source `by` $plan `outs` `(` $init `)` attr-dict `:` type($source) `,` type($init) `->` type($pending)";
}

def Moe_DispatchStartOp : Moe_PlannedStart<"dispatch_start"> { let summary = "`moe.dispatch`, begun"; }
def Moe_CombineStartOp : Moe_PlannedStart<"combine_start"> { let summary = "`moe.combine`, begun"; }
def Moe_AllReduceStartOp : Moe_Start<"all_reduce_start", (ins)> {
  let summary = "`moe.all_reduce`, begun";
  let assemblyFormat = "$source `outs` `(` $init `)` attr-dict `:` type($source) `,` type($init) `->` type($pending)";
}

def Moe_WaitOp : Moe_Op<"wait", [MemoryEffects<[MemRead<Moe_WorldResource>, MemWrite<Moe_WorldResource>]>]> {
  let summary = "waits until an exchange is done and gives its result";
  let description = [{
    `pending` comes from the same start as `future`; `keep` are the tensors that the exchange reads, so that their memory
    is neither written nor freed before (C9).
  }];
  let arguments = (ins Moe_FutureType:$future, AnyRankedTensor:$pending, Variadic<AnyRankedTensor>:$keep);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$future `,` $pending (`keep` `(` $keep^ `:` type($keep) `)`)? attr-dict `:` type($pending) `->` type($result)";
}

#endif
