// Rules about a whole model that hold before anything is rewritten.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/Proto.h"

namespace farskip::onnx::reader {

/// Supported versions, both ends included. An opset below minOpset is fine for operators that did not change up to it.
constexpr int64_t minIrVersion = 3, maxIrVersion = 14;
constexpr int64_t minOpset = 7, maxOpset = 28;
constexpr int64_t microsoftOpset = 1;
constexpr llvm::StringLiteral microsoftDomain = "com.microsoft";

/// Checks versions, imports, names, types and attribute sets, and sets Node::opset everywhere.
///
/// A main graph input that has an initializer (a default value) is compiled as that constant and no longer an input;
/// from IR 4 on, where ONNX lets a caller override it, a warning says so.
llvm::Error checkModel(Model &model, DiagnosticSink sink);

/// "node 'name' (domain.OpType)" for messages.
std::string describe(const Node &node);

} // namespace farskip::onnx::reader
