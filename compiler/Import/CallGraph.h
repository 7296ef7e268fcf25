// Which functions call which, and what inlining them all would amount to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/ImportOptions.h"
#include "compiler/Import/Proto.h"
#include "llvm/ADT/StringMap.h"

namespace farskip::onnx::reader {

/// Finds the model-local function that a node calls, by domain, name and overload. A function hides an operator of
/// the same domain and name.
class FunctionTable {
public:
  /// Errors: two functions with one signature.
  llvm::Error build(std::vector<Function> &functions);
  Function *find(const Node &node) const;

private:
  llvm::StringMap<Function *> bySignature;
};

/// Refuses, without inlining anything: recursion (the cycle is named), calls nested deeper than the limit, and models
/// that would have more nodes than the limit once inlined.
llvm::Error checkCalls(const Model &model, const FunctionTable &table, const ImportOptions &options);

} // namespace farskip::onnx::reader
