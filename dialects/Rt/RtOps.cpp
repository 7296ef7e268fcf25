// The rt dialect's registration and generated code.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Rt/RtOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Rt/RtDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Rt/RtTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Rt/RtOps.cpp.inc"

void farskip::rt::RtDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Rt/RtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Rt/RtOps.cpp.inc"
      >();
}
