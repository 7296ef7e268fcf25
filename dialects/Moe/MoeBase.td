// The moe dialect and its types.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_MOE_MOEBASE_TD
#define FARSKIP_DIALECTS_MOE_MOEBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Shape/SymbolicShapeOpInterface.td"

def Moe_Dialect : Dialect {
  let name = "moe";
  let cppNamespace = "::farskip::moe";
  let summary = "mixture-of-experts blocks, and how they are spread over ranks";
  let description = [{
    Two families. Model operations say what a block computes on one device (`moe.experts`). Distribution operations move
    rows between ranks: `moe.exchange_plan` decides which rows go where, `moe.dispatch` sends them to the ranks that own
    their experts, `moe.combine` brings the results back. Letters in the descriptions: T tokens, D model width, E experts,
    K experts chosen for a token, R ranks.

    Distribution operations are never `Pure`: each has a memory effect on the resource of its communicator, so that none
    is moved across another, merged or removed but by passes that know what that means.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Moe_Type<string name, string typeMnemonic> : TypeDef<Moe_Dialect, name> { let mnemonic = typeMnemonic; }

def Moe_PlanType : Moe_Type<"Plan", "plan"> {
  let summary = "which rows go to which rank, and which come from there";
}

def Moe_FutureType : Moe_Type<"Future", "future"> {
  let summary = "an exchange of tensors under way; waited for exactly once (C7), never stored or returned (C10)";
}

// The only communicator so far: all ranks of the program.
def Moe_WorldResource : Resource<"::farskip::moe::WorldResource">;

class Moe_Op<string mnemonic, list<Trait> traits = []> : Op<Moe_Dialect, mnemonic, traits>;

// A tensor before bufferization, a buffer after it.
def Moe_Shaped : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef]>;

#endif
