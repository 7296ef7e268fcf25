// The rt dialect: one operation per function of the run-time's C interface.
// SPDX-License-Identifier: Apache-2.0
include "mlir/IR/OpBase.td"
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
}

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
