// Which opset an operation needs so that the standard means by it what the onnx dialect means.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_EXPORT_OPSETS_H
#define FARSKIP_COMPILER_EXPORT_OPSETS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace farskip {

/// Opsets that a written model may declare. Below 13 axes are attributes and Softmax flattens; the IR version that is
/// declared along, `irVersion`, never exceeds 10, which engines of 2024 and later read.
constexpr int64_t kLowestOpset = 13, kHighestOpset = 25;

/// The first opset of the default domain, at least `kLowestOpset`, that has the operator in the form in which `op` is
/// written: its operands, the attributes `written` (those that differ from their defaults) and its element types. May
/// exceed `kHighestOpset`. Operators that the standard does not have (ONNX Runtime's own) need none in particular.
int64_t requiredOpset(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> written);

/// The IR version that came with an opset, at most 10.
int64_t irVersion(int64_t opset);

} // namespace farskip

#endif
