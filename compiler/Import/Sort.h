// Name resolution and topological order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/Proto.h"

namespace farskip::onnx::reader {

/// Sorts the main graph and every graph in it, so that each node comes after those whose values it or the graphs in it
/// read. The order is stable: a sorted graph stays as it is, otherwise nodes move up only as far as a reader needs.
/// Linear in nodes and names; a warning says that something was not sorted.
///
/// Errors: a name defined twice in one graph, a name nobody defines, a cycle (with its nodes), and a name that could
/// mean either a later node of a nested graph or a value around it.
llvm::Error sortModel(Model &model, DiagnosticSink sink);

/// The same rules for the body of a function, which sees nothing but its inputs. Also sorts it.
llvm::Error sortFunction(Function &function);

} // namespace farskip::onnx::reader
