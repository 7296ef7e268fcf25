// The model reader: from a path to a checked, inlined, sorted, up-to-date graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/ImportOptions.h"
#include "compiler/Import/Proto.h"

namespace farskip::onnx::reader {

/// Reads `path`. On success the model's graph
///  - has no calls of model-local functions and no attribute references,
///  - is topologically sorted, nested graphs included, and every name it reads is made somewhere,
///  - has every operator that the operator table knows in its newest form (Node::opset stays the version the file
///    asked for, for messages), others as they were,
///  - has Constant nodes in one form only: a tensor `value`.
/// Weights are references into `files`; none is loaded.
///
/// The error is one line, starting with the file's name, without "error: " in front; warnings go to `sink`.
llvm::Expected<Model> readModel(llvm::StringRef path, const ImportOptions &options, DiagnosticSink sink);

} // namespace farskip::onnx::reader
