// Collectives on one to five ranks, against serial sums and copies.
// SPDX-License-Identifier: Apache-2.0
#include "test/runtime/Ranks.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace farskip::runtime;

namespace {

constexpr int64_t kMostRanks = 5;

/// What rank `rank` holds at `i`; the same on every rank.
float valueOf(int64_t rank, int64_t i) { return std::sin(static_cast<float>(rank * 1009 + i)) * 100; }

std::vector<float> values(int64_t rank, int64_t count) {
  std::vector<float> list(count);
  for (int64_t i = 0; i < count; ++i)
    list[i] = valueOf(rank, i);
  return list;
}

void expectOk(const Status &status) { EXPECT_EQ(status.code, kOk) << status.message; }

TEST(Collectives, AllReduceSumsInRankOrder) {
  for (int64_t ranks = 1; ranks <= kMostRanks; ++ranks)
    for (int64_t count : {0, 1, 3, 1000, 300000})
      expectOk(onRanks(ranks, [=](Context &context) {
        std::vector<float> in = values(context.rank, count), out(count, NAN);
        farskip_rt_request_wait(handle(context), farskip_rt_all_reduce_start(handle(context), 0, in.data(), out.data(),
                                                                             count, FARSKIP_F32));
        farskip_rt_request_wait(
            handle(context), farskip_rt_all_reduce_start(handle(context), 1, in.data(), in.data(), count, FARSKIP_F32));
        for (int64_t i = 0; i < count; ++i) {
          float sum = valueOf(0, i);
          for (int64_t rank = 1; rank < ranks; ++rank)
            sum += valueOf(rank, i);
          RANK_CHECK(context, out[i] == sum && in[i] == sum);
        }
      }));
}

TEST(Collectives, SmallFloatsAreRoundedOnce) {
  expectOk(onRanks(3, [](Context &context) {
    // Every f16, shifted by rank.
    std::vector<_Float16> in(65536), out(65536);
    auto bitsOf = [](int64_t rank, int64_t i) {
      return std::bit_cast<_Float16>(static_cast<uint16_t>(i * (rank + 1) + rank * 77));
    };
    for (int64_t i = 0; i < 65536; ++i)
      in[i] = bitsOf(context.rank, i);
    farskip_rt_request_wait(handle(context),
                            farskip_rt_all_reduce_start(handle(context), 0, in.data(), out.data(), 65536, FARSKIP_F16));
    for (int64_t i = 0; i < 65536; ++i) {
      float sum =
          static_cast<float>(bitsOf(0, i)) + static_cast<float>(bitsOf(1, i)) + static_cast<float>(bitsOf(2, i));
      auto wanted = static_cast<_Float16>(sum);
      RANK_CHECK(context, std::bit_cast<uint16_t>(wanted) == std::bit_cast<uint16_t>(out[i]) ||
                              (wanted != wanted && out[i] != out[i]));
    }
    // 1 + 2^-8 is a tie in bf16; the two halves of it are not lost before the sum is complete.
    uint16_t one = 0x3f80, small = 0x3b00, big = 0, tie[] = {one, small, small};
    farskip_rt_request_wait(handle(context),
                            farskip_rt_all_reduce_start(handle(context), 0, &tie[context.rank], &big, 1, FARSKIP_BF16));
    RANK_CHECK(context, big == 0x3f80);
    uint16_t more[] = {one, 0x3b80, small};
    farskip_rt_request_wait(
        handle(context), farskip_rt_all_reduce_start(handle(context), 0, &more[context.rank], &big, 1, FARSKIP_BF16));
    RANK_CHECK(context, big == 0x3f81);
  }));
}

TEST(Collectives, EveryTypeIsSummed) {
  auto sums = [](Context &context, auto zero, int64_t dtype) {
    using T = decltype(zero);
    T in[2] = {static_cast<T>(context.rank + 1), static_cast<T>(100)}, out[2];
    farskip_rt_request_wait(handle(context), farskip_rt_all_reduce_start(handle(context), 0, in, out, 2, dtype));
    RANK_CHECK(context, out[0] == static_cast<T>(6) && out[1] == static_cast<T>(300));
  };
  expectOk(onRanks(3, [&](Context &context) {
    sums(context, double(), FARSKIP_F64);
    sums(context, int64_t(), FARSKIP_I64);
    sums(context, int32_t(), FARSKIP_I32);
    sums(context, int16_t(), FARSKIP_I16);
    sums(context, int8_t(), FARSKIP_I8);
    sums(context, uint64_t(), FARSKIP_U64);
    sums(context, uint32_t(), FARSKIP_U32);
    sums(context, uint16_t(), FARSKIP_U16);
    sums(context, uint8_t(), FARSKIP_U8);
  }));
}

TEST(Collectives, AllGatherIsRagged) {
  for (int64_t ranks = 1; ranks <= kMostRanks; ++ranks)
    for (int64_t seed = 0; seed < 4; ++seed)
      expectOk(onRanks(ranks, [=](Context &context) {
        std::mt19937 random(seed);
        std::vector<int64_t> counts(ranks);
        for (int64_t &count : counts)
          count = seed == 0 ? 0 : random() % 3 ? random() % 100000 : 0;
        int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
        std::vector<int64_t> heard(ranks);
        RANK_CHECK(context,
                   farskip_rt_all_gather_counts(handle(context), 0, counts[context.rank], heard.data()) == total);
        RANK_CHECK(context, heard == counts);
        std::vector<float> in = values(context.rank, counts[context.rank]), out(total, NAN);
        farskip_rt_request_wait(handle(context), farskip_rt_all_gather_start(handle(context), 1, in.data(),
                                                                             in.size() * sizeof(float), out.data()));
        for (int64_t rank = 0, at = 0; rank < ranks; ++rank)
          for (int64_t i = 0; i < counts[rank]; ++i)
            RANK_CHECK(context, out[at++] == valueOf(rank, i));
      }));
}

TEST(Collectives, ReduceScatterGivesEachItsBlock) {
  for (int64_t ranks = 1; ranks <= kMostRanks; ++ranks)
    expectOk(onRanks(ranks, [=](Context &context) {
      std::vector<int64_t> counts(ranks);
      for (int64_t rank = 0; rank < ranks; ++rank)
        counts[rank] = rank % 2 ? 0 : 777 * (rank + 1);
      int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
      std::vector<float> in = values(context.rank, total), out(counts[context.rank], NAN);
      farskip_rt_request_wait(handle(context), farskip_rt_reduce_scatter_start(handle(context), 0, in.data(),
                                                                               out.data(), counts.data(), FARSKIP_F32));
      int64_t first = std::accumulate(counts.begin(), counts.begin() + context.rank, int64_t{0});
      for (int64_t i = 0; i < counts[context.rank]; ++i) {
        float sum = valueOf(0, first + i);
        for (int64_t rank = 1; rank < ranks; ++rank)
          sum += valueOf(rank, first + i);
        RANK_CHECK(context, out[i] == sum);
      }
    }));
}

TEST(Collectives, AllToAllTakesAnyCounts) {
  for (int64_t ranks = 1; ranks <= kMostRanks; ++ranks)
    for (int64_t rowBytes : {0, 4, 12, 4096})
      expectOk(onRanks(ranks, [=](Context &context) {
        auto rows = [=](int64_t from, int64_t to) { return (from + 1) * (to + 2) % 4 * 37 % 100; };
        std::vector<int64_t> send(ranks), receive(ranks);
        std::vector<char> out, in;
        for (int64_t peer = 0; peer < ranks; ++peer) {
          send[peer] = rows(context.rank, peer);
          receive[peer] = rows(peer, context.rank);
          out.insert(out.end(), send[peer] * rowBytes, static_cast<char>(context.rank * 16 + peer));
          in.insert(in.end(), receive[peer] * rowBytes, 0);
        }
        farskip_rt_request_wait(handle(context),
                                farskip_rt_all_to_all_start(handle(context), 0, out.data(), send.data(), in.data(),
                                                            receive.data(), rowBytes));
        size_t at = 0;
        for (int64_t peer = 0; peer < ranks; ++peer)
          for (int64_t i = 0; i < receive[peer] * rowBytes; ++i)
            RANK_CHECK(context, in[at++] == static_cast<char>(peer * 16 + context.rank));
      }));
}

TEST(Collectives, SeveralAreUnderWayAtOnceAndWaitsMayComeInAnyOrder) {
  expectOk(onRanks(3, [](Context &context) {
    constexpr int64_t kCount = 500000, kExchanges = 5;
    std::vector<float> in = values(context.rank, kCount);
    std::vector<std::vector<float>> out(kExchanges, std::vector<float>(kCount, NAN));
    farskip_rt_barrier(handle(context), 0);
    std::vector<farskip_rt_request *> requests;
    for (int64_t i = 0; i < kExchanges; ++i)
      requests.push_back(
          farskip_rt_all_reduce_start(handle(context), i, in.data(), out[i].data(), kCount - i, FARSKIP_F32));
    for (int64_t i : {2, 0, 4, 1, 3})
      farskip_rt_request_wait(handle(context), requests[i]);
    for (int64_t i = 0; i < kExchanges; ++i)
      for (int64_t j = 0; j < kCount - i; ++j)
        RANK_CHECK(context, out[i][j] == valueOf(0, j) + valueOf(1, j) + valueOf(2, j));
  }));
}

} // namespace
