// Each index of a loop runs once, whatever the number of threads.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Pool/Pool.h"
#include <gtest/gtest.h>

using namespace farskip::runtime;

namespace {

void count(void *, void *arguments, int64_t begin, int64_t end) {
  auto &seen = *static_cast<std::vector<int> *>(arguments);
  for (int64_t i = begin; i < end; ++i)
    ++seen[i];
}

TEST(Pool, CoversTheRangeOnce) {
  for (int64_t threads : {1, 2, 3, 5}) {
    Pool pool(threads);
    for (int64_t length : {0, 1, 2, 7, 100})
      for (int64_t grain : {0, 1, 3, 1000}) {
        std::vector<int> seen(length + 2, 0);
        pool.parallelFor(1, length + 1, grain, count, nullptr, &seen);
        EXPECT_EQ(seen.front() + seen.back(), 0);
        for (int64_t i = 1; i <= length; ++i)
          ASSERT_EQ(seen[i], 1) << threads << " threads, length " << length << ", grain " << grain << ", index " << i;
      }
  }
}

TEST(Pool, RunsManyLoops) {
  Pool pool(3);
  std::vector<int> seen(16, 0);
  for (int i = 0; i < 2000; ++i)
    pool.parallelFor(0, 16, 1, count, nullptr, &seen);
  for (int value : seen)
    EXPECT_EQ(value, 2000);
}

} // namespace
