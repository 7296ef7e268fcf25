// Memory of one model: everything the in-memory graph points to that is not in a mapped file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include <cstring>
#include <memory>
#include <type_traits>

namespace farskip::onnx::reader {

/// Bump allocator with a budget. Nothing in it is destructed, so it takes trivially destructible types only.
/// Callers charge() before they allocate for a count that the model chose, and stop when that fails.
class Arena {
public:
  explicit Arena(uint64_t budget) : budget(budget) {}

  /// Books `bytes` against the budget; false when it is spent.
  bool charge(uint64_t bytes) {
    if (bytes > budget - used)
      return false;
    used += bytes;
    return true;
  }
  uint64_t limit() const { return budget; }

  /// An array that lives as long as the arena.
  template <typename T> llvm::MutableArrayRef<T> copy(llvm::ArrayRef<T> values) {
    llvm::MutableArrayRef<T> out = make<T>(values.size());
    std::uninitialized_copy(values.begin(), values.end(), out.begin());
    return out;
  }

  /// `count` elements, uninitialised.
  template <typename T> llvm::MutableArrayRef<T> make(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    return {allocator.Allocate<T>(count), count};
  }

  template <typename T> T *create(const T &value) { return copy(llvm::ArrayRef<T>(value)).data(); }

  llvm::StringRef save(llvm::StringRef text) {
    llvm::MutableArrayRef<char> out = copy(llvm::ArrayRef<char>(text.data(), text.size()));
    return {out.data(), out.size()};
  }

private:
  llvm::BumpPtrAllocator allocator;
  uint64_t budget, used = 0;
};

} // namespace farskip::onnx::reader
