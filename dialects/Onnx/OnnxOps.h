// The onnx dialect: ONNX operators in their newest form.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXOPS_H
#define FARSKIP_DIALECTS_ONNX_ONNXOPS_H

#include "dialects/Shape/SymbolicShapes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace farskip::onnx {

/// An input or attribute of an operator, in the order of the standard.
struct Field {
  const char *name;
  /// x input, o optional input, v variadic input; attribute: i integer, f float, s string, I F S lists, t tensor
  char kind;
  bool required;
  bool isOperand() const { return kind == 'x' || kind == 'o' || kind == 'v'; }
};

} // namespace farskip::onnx

#include "dialects/Onnx/OnnxDialect.h.inc"
#include "dialects/Onnx/OnnxOpInterface.h.inc"
#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.h.inc"

#endif
