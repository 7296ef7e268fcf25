// The rt dialect: one operation per function of the run-time's C interface.
// SPDX-License-Identifier: Apache-2.0
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::farskip::rt";
  let summary = "calls of the run-time";
  let description = [{
    One operation is one C function of `runtime/include/farskip/rt.h`; there is no logic here. The run-time's context is
    implicit: the last lowering threads it through all functions as their first argument.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Rt_Type<string name, string typeMnemonic> : TypeDef<Rt_Dialect, name> { let mnemonic = typeMnemonic; }
def Rt_PlanType : Rt_Type<"Plan", "plan"> { let summary = "a handle on an exchange plan"; }
def Rt_RequestType : Rt_Type<"Request", "request"> { let summary = "a handle on an exchange under way"; }

// What keeps exchanges in order.
def Rt_WorldResource : Resource<"::farskip::rt::WorldResource">;

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

def Rt_InputOp : Rt_Op<"input", [Pure]> {
  let summary = "this rank's slice of a program input";
  let arguments = (ins I64Attr:$index);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "$index attr-dict `:` type($buffer)";
}

def Rt_OutputOp : Rt_Op<"output", [MemoryEffects<[MemWrite]>]> {
  let summary = "hands this rank's part of a program output to the run-time, which copies it";
  let arguments = (ins I64Attr:$index, Arg<AnyMemRef, "", [MemRead]>:$buffer);
  let assemblyFormat = "$index `,` $buffer attr-dict `:` type($buffer)";
}

def Rt_WeightOp : Rt_Op<"weight", [Pure]> {
  let summary = "a view into the mapped weights file, at a byte offset from its start";
  let arguments = (ins I64Attr:$offset);
  let results = (outs AnyStaticShapeMemRef:$buffer);
  let assemblyFormat = "$offset attr-dict `:` type($buffer)";
}

def Rt_ArenaOp : Rt_Op<"arena", [MemoryEffects<[MemAlloc]>]> {
  let summary = "the rank's arena, at least `bytes` large";
  let arguments = (ins Index:$bytes);
  let results = (outs MemRefRankOf<[I8], [1]>:$buffer);
  let assemblyFormat = "$bytes attr-dict `:` type($buffer)";
}

def Rt_CheckOp : Rt_Op<"check", [MemoryEffects<[MemWrite]>]> {
  let summary = "ends the run with a message unless `condition` holds";
  let description = [{
    `{0}`, `{1}`, … in the message are replaced by `values`. The input was wrong: the program's exit code is 1.
  }];
  let arguments = (ins I1:$condition, StrAttr:$message, Variadic<Index>:$values);
  let assemblyFormat = "$condition `,` $message (`(` $values^ `)`)? attr-dict";
}

def Rt_RankOp : Rt_Op<"rank", [Pure]> {
  let summary = "this process's rank";
  let results = (outs Index:$rank);
  let assemblyFormat = "attr-dict";
}

def Rt_ParallelForOp : Rt_Op<"parallel_for"> {
  let summary = "runs a kernel over [0, count) in contiguous blocks, one per thread";
  let description = [{
    `kernel` is a function of this module whose first two arguments are the bounds of its block, followed by `args`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Index:$count, Index:$grain, Variadic<AnyType>:$args);
  let assemblyFormat = "$kernel `[` $count `,` $grain `]` `(` $args `)` attr-dict `:` type($args)";
}

// Exchanges. The number `op` is that of the collective in the program's table.

def Rt_PlanCreateOp : Rt_Op<"plan_create", [MemoryEffects<[MemRead<Rt_WorldResource>, MemWrite<Rt_WorldResource>]>]> {
  let summary = "exchange which rows go where";
  let arguments = (ins Arg<AnyMemRef, "tokens x slots", [MemRead]>:$experts, I64Attr:$expert_count, I64Attr:$op);
  let results = (outs Rt_PlanType:$plan);
  let assemblyFormat = "$experts attr-dict `:` type($experts)";
}

def Rt_PlanReceivedOp : Rt_Op<"plan_received", [Pure]> {
  let summary = "rows that this rank gets";
  let arguments = (ins Rt_PlanType:$plan);
  let results = (outs Index:$rows);
  let assemblyFormat = "$plan attr-dict";
}

def Rt_PlanPairsOp : Rt_Op<"plan_pairs", [Pure]> {
  let summary = "(row, expert) pairs that this rank computes";
  let arguments = (ins Rt_PlanType:$plan);
  let results = (outs Index:$pairs);
  let assemblyFormat = "$plan attr-dict";
}

def Rt_PlanGroupsOp : Rt_Op<"plan_groups"> {
  let summary = "the pairs grouped by expert";
  let arguments = (ins Rt_PlanType:$plan, Arg<AnyMemRef, "", [MemWrite]>:$offsets, Arg<AnyMemRef, "", [MemWrite]>:$rows);
  let assemblyFormat = "$plan `,` $offsets `,` $rows attr-dict `:` type($offsets) `,` type($rows)";
}

def Rt_PlanDestroyOp : Rt_Op<"plan_destroy", [MemoryEffects<[MemRead<Rt_WorldResource>, MemWrite<Rt_WorldResource>]>]> {
  let summary = "gives the plan back; no exchange by it is under way";
  let arguments = (ins Rt_PlanType:$plan);
  let assemblyFormat = "$plan attr-dict";
}

class Rt_Start<string mnemonic, dag plan>
    : Rt_Op<mnemonic, [MemoryEffects<[MemRead<Rt_WorldResource>, MemWrite<Rt_WorldResource>]>]> {
  let arguments = !con((ins Arg<AnyMemRef, "", [MemRead]>:$source), plan,
                       (ins Arg<AnyMemRef, "", [MemWrite]>:$target, I64Attr:$op));
  let results = (outs Rt_RequestType:$request);
  let description = "Both buffers are row-major and stay untouched until the wait.";
}

class Rt_PlannedStart<string mnemonic> : Rt_Start<mnemonic, (ins Rt_PlanType:$plan)> {
  let assemblyFormat = "$source `by` $plan `into` $target attr-dict `:` type($source) `,` type($target)";
}
def Rt_DispatchStartOp : Rt_PlannedStart<"dispatch_start"> { let summary = "rows to the ranks that own their experts"; }
def Rt_CombineStartOp : Rt_PlannedStart<"combine_start"> { let summary = "results back to the rows' owners"; }
def Rt_AllReduceStartOp : Rt_Start<"all_reduce_start", (ins)> {
  let summary = "the sum over ranks";
  let assemblyFormat = "$source `into` $target attr-dict `:` type($source) `,` type($target)";
}

def Rt_WaitOp : Rt_Op<"wait", [MemoryEffects<[MemRead<Rt_WorldResource>, MemWrite<Rt_WorldResource>]>]> {
  let summary = "waits for an exchange";
  let description = "`filled` and `keep` are the buffers of the exchange, so that both live until here.";
  let arguments = (ins Rt_RequestType:$request, Arg<AnyMemRef, "", [MemWrite]>:$filled,
                       Arg<Variadic<AnyMemRef>, "", [MemRead]>:$keep);
  let assemblyFormat = "$request `for` $filled (`keep` `(` $keep^ `:` type($keep) `)`)? attr-dict `:` type($filled)";
}
