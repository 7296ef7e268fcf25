// The rt dialect's registration and generated code.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Rt/RtOps.h"

#include "dialects/Rt/RtDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Rt/RtOps.cpp.inc"

void farskip::rt::RtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Rt/RtOps.cpp.inc"
      >();
}
