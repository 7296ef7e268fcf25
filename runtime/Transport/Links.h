// Byte streams from one rank to every other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/uio.h>

namespace farskip::runtime {

/// Used by one thread, except `wake`. Peers are rank numbers.
class Links {
public:
  virtual ~Links() = default;
  /// Moves as much as it can without waiting; the number of bytes, 0 when there is no room or nothing has come.
  virtual size_t write(int64_t peer, const iovec *parts, int count) = 0;
  virtual size_t read(int64_t peer, const iovec *parts, int count) = 0;
  /// Taken before the attempts that precede a sleep: what happens after it ends the sleep.
  virtual uint32_t ticket() = 0;
  /// Sleeps until a peer has moved or `wake` was called since `ticket`. `writes` and `reads` say which peers are
  /// waited for; without any only `wake` ends the sleep.
  virtual void sleep(uint32_t ticket, const bool *writes, const bool *reads) = 0;
  /// From any thread of this rank.
  virtual void wake() = 0;
};

} // namespace farskip::runtime
