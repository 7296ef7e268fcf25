// The moe dialect: mixture-of-experts blocks and their distribution over ranks.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_MOE_MOEOPS_H
#define FARSKIP_DIALECTS_MOE_MOEOPS_H

#include "dialects/Shape/SymbolicShapes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace farskip::moe {

/// The communicator of all ranks: effects on it keep exchanges in order.
struct WorldResource : mlir::SideEffects::Resource::Base<WorldResource> {
  mlir::StringRef getName() final { return "moe.world"; }
};

} // namespace farskip::moe

#include "dialects/Moe/MoeDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Moe/MoeTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Moe/MoeOps.h.inc"

namespace farskip::moe {
/// Lets One-Shot Bufferize turn the operations on tensors into the same on buffers.
void registerBufferizableOpInterfaceExternalModels(mlir::DialectRegistry &registry);
} // namespace farskip::moe

#endif
