// The moe dialect's registration and generated code.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Moe/MoeDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Moe/MoeTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Moe/MoeOps.cpp.inc"

void farskip::moe::MoeDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Moe/MoeTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Moe/MoeOps.cpp.inc"
      >();
}
