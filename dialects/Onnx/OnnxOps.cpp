// The code that ODS generates for the operators.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/OnnxOps.h"

#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.cpp.inc"

void farskip::onnx::OnnxDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Onnx/OnnxOps.cpp.inc"
      >();
}
