// Replaces calls of model-local functions by their bodies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/ImportOptions.h"
#include "compiler/Import/Names.h"
#include "compiler/Import/Proto.h"

namespace farskip::onnx::reader {

/// Inlines every call, in the main graph and the graphs in it, and empties `model.functions`. Values of a body get
/// fresh names; nodes are named "call/inner"; each keeps the opset of the function that it comes from. References to
/// attributes take the call's value, else the function's default. A missing trailing argument is an absent input.
///
/// Expects checkModel(). Bodies are name-resolved here. Errors: recursion and the limits of checkCalls(), too many
/// arguments or results, attributes that the function does not declare, a reference that has neither value nor default.
llvm::Error inlineFunctions(Model &model, FreshNames &names, const ImportOptions &options);

} // namespace farskip::onnx::reader
