// The interface by which an operation tells the shapes of its results.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_SHAPE_SYMBOLICSHAPEOPINTERFACE_TD
#define FARSKIP_DIALECTS_SHAPE_SYMBOLICSHAPEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def SymbolicShapeOpInterface : OpInterface<"SymbolicShapeOpInterface"> {
  let cppNamespace = "::farskip";
  let description = [{
    Derives element type, symbolic dimensions and, for small integer tensors, contents of all results from those of the
    operands. Emits a diagnostic and fails when the operands can never be right together. Idempotent.
  }];
  let methods = [
    InterfaceMethod<"Give every result its type and dimensions.", "::mlir::LogicalResult", "inferShapes",
                    (ins "::farskip::SymbolicShapes &":$shapes)>
  ];
}

#endif
