// New value names that clash with none of a model's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/Proto.h"
#include "llvm/ADT/CachedHashString.h"
#include "llvm/ADT/DenseSet.h"

namespace farskip::onnx::reader {

/// Collects the names of the main graph and the graphs in it when the first new name is asked for, since most models
/// need none.
class FreshNames {
public:
  explicit FreshNames(Model &model) : model(model) {}

  /// Collects now: for callers that take graphs apart while they ask for names.
  void prepare();

  /// `base` (cut when it is long) with a number behind it. Lives as long as the model.
  llvm::StringRef make(llvm::StringRef base);

private:
  void collect(const Graph &graph);
  void add(llvm::StringRef name) { used.insert(llvm::CachedHashStringRef(name)); }

  Model &model;
  llvm::DenseSet<llvm::CachedHashStringRef> used;
  uint64_t next = 0;
  bool collected = false;
};

} // namespace farskip::onnx::reader
