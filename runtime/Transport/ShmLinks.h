// Byte streams through memory that the ranks of one machine share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Error.h"
#include "runtime/Transport/Control.h"
#include "runtime/Transport/Links.h"
#include <memory>

namespace farskip::runtime {

/// Memory that the launcher maps before it forks the ranks: it has no name, and goes when the last of them ends.
class SharedMemory {
public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;
  ~SharedMemory();
  /// Reserves all of it at once: a write never faults for lack of space.
  Status create(int64_t ranks);

  Control &control() const { return *static_cast<Control *>(memory); }
  /// The ring from one rank to another.
  char *channel(int64_t from, int64_t to) const;
  /// A power of two; messages of any size pass through.
  size_t channelBytes() const { return ringBytes; }

private:
  void *memory = nullptr;
  size_t size = 0, ringBytes = 0, firstChannel = 0;
};

std::unique_ptr<Links> makeShmLinks(const SharedMemory &memory, int64_t rank);

} // namespace farskip::runtime
