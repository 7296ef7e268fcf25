// Sleeping on a word of memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace farskip::runtime {

/// Words in memory that several processes share need `Shared`.
enum class FutexScope { Process, Shared };

/// Sleeps while `word` is `value`, at most `ns` when that is above 0. May return early.
inline void futexWait(std::atomic<uint32_t> &word, uint32_t value, FutexScope scope, int64_t ns = 0) {
  timespec limit = {ns / 1'000'000'000, ns % 1'000'000'000};
  int op = scope == FutexScope::Process ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT;
  ::syscall(SYS_futex, &word, op, value, ns > 0 ? &limit : nullptr, nullptr, 0);
}

inline void futexWake(std::atomic<uint32_t> &word, FutexScope scope) {
  ::syscall(SYS_futex, &word, scope == FutexScope::Process ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE, INT_MAX, nullptr, nullptr,
            0);
}

/// Nanoseconds of the clock that all processes of a machine share.
inline int64_t nowNs() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

} // namespace farskip::runtime
