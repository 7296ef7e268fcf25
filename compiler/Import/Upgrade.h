// Brings every operator to its newest form (opset 28), so that nothing after the reader knows opset numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/Names.h"
#include "compiler/Import/Proto.h"

namespace farskip::onnx::reader {

/// Upgrades the nodes of all graphs in place; constants that become inputs are new initializers of their graph.
/// Expects a sorted model without functions. Operators that the operator table does not know stay as they are.
///
/// Errors: an operator or attribute that the model's opset does not have, and what a rule finds wrong with a node.
llvm::Error upgradeModel(Model &model, FreshNames &names);

} // namespace farskip::onnx::reader
