// When operators and attributes of the default domain came to be.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace farskip::onnx::reader {

/// The opsets in which the operator was introduced or changed, ascending, up to opset 28; empty for operators that
/// the table does not know (those it has are all that some phase of the compiler can take, now or later).
llvm::ArrayRef<uint8_t> operatorVersions(llvm::StringRef op);

/// The version of the operator that a model of this opset means; 0 where there is none.
uint32_t sinceVersion(llvm::StringRef op, uint32_t opset);

/// An attribute that an operator did not have from its beginning.
struct AttributeRow {
  llvm::StringLiteral op, attribute;
  uint32_t since;
};

/// Those of one operator.
llvm::ArrayRef<AttributeRow> laterAttributes(llvm::StringRef op);

} // namespace farskip::onnx::reader
