// The rt dialect: calls of the run-time.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_RT_RTOPS_H
#define FARSKIP_DIALECTS_RT_RTOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace farskip::rt {

/// All ranks of the program: effects on it keep exchanges in order.
struct WorldResource : mlir::SideEffects::Resource::Base<WorldResource> {
  mlir::StringRef getName() final { return "rt.world"; }
};

} // namespace farskip::rt

#include "dialects/Rt/RtDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Rt/RtTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Rt/RtOps.h.inc"

#endif
