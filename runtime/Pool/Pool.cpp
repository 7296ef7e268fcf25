// A pool of threads that run one loop at a time.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Pool/Pool.h"
#include <algorithm>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace farskip::runtime {

/// About 20 µs on current machines: longer than the gap between two loops,
/// short where cores are shared.
static constexpr int kSpins = 4000;

static void waitWhile(std::atomic<uint32_t> &word, uint32_t value) {
  for (int i = 0; i < kSpins; ++i) {
    if (word.load(std::memory_order_acquire) != value)
      return;
    __builtin_ia32_pause();
  }
  while (word.load(std::memory_order_acquire) == value)
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

static void wakeAll(std::atomic<uint32_t> &word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

Pool::Pool(int64_t threads) {
  for (int64_t i = 1; i < threads; ++i)
    workers.emplace_back([this, i] { work(i); });
}

Pool::~Pool() {
  stopping = true;
  ++generation;
  wakeAll(generation);
  for (std::thread &worker : workers)
    worker.join();
}

void Pool::runBlock(int64_t index) {
  if (index >= loop.blocks)
    return;
  int64_t count = loop.end - loop.begin, each = count / loop.blocks, more = count % loop.blocks;
  int64_t from = loop.begin + index * each + std::min(index, more);
  loop.body(loop.context, loop.arguments, from, from + each + (index < more));
}

void Pool::work(int64_t index) {
  for (uint32_t seen = 0;;) {
    waitWhile(generation, seen);
    ++seen;
    if (stopping)
      return;
    runBlock(index);
    if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1)
      wakeAll(pending);
  }
}

void Pool::parallelFor(int64_t begin, int64_t end, int64_t grain, Body body, void *context, void *arguments) {
  int64_t count = end - begin;
  if (count <= 0)
    return;
  int64_t blocks = std::min<int64_t>(workers.size() + 1, std::max<int64_t>(1, count / std::max<int64_t>(1, grain)));
  if (blocks == 1)
    return body(context, arguments, begin, end);
  loop = {body, context, arguments, begin, end, blocks};
  pending.store(workers.size(), std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  wakeAll(generation);
  runBlock(0);
  for (uint32_t left; (left = pending.load(std::memory_order_acquire)) != 0;)
    waitWhile(pending, left);
}

} // namespace farskip::runtime
