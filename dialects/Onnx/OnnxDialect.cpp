// The onnx dialect and its interfaces; the generated operation code stands alone in OnnxOps.cpp.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/OnnxOps.h"

#include "dialects/Onnx/OnnxDialect.cpp.inc"
#include "dialects/Onnx/OnnxOpInterface.cpp.inc"
