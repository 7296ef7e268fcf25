// A pool of threads that run one loop at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace farskip::runtime {

/// `parallelFor` cuts a range into contiguous blocks, one per thread, the
/// caller's included. Workers wait by spinning for a bounded time, then in the
/// kernel (futex).
class Pool {
public:
  using Body = void (*)(void *context, void *arguments, int64_t begin, int64_t end);

  explicit Pool(int64_t threads);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  void parallelFor(int64_t begin, int64_t end, int64_t grain, Body body, void *context, void *arguments);

private:
  void work(int64_t index);
  void runBlock(int64_t index);

  struct Loop {
    Body body;
    void *context, *arguments;
    int64_t begin, end, blocks;
  } loop = {};
  std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> pending{0};
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
};

} // namespace farskip::runtime
