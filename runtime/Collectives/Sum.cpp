// Sums over ranks, element by element.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Collectives/Sum.h"
#include "farskip/rt.h"
#include "runtime/Model/SmallFloats.h"
#include <algorithm>
#include <cstring>
#include <iterator>

namespace farskip::runtime {

namespace {

/// A tile of accumulators stays in the first-level cache.
constexpr int64_t kTile = 1024;

/// How elements are stored and in what they are added.
template <typename T> struct Plain {
  using Stored = T;
  using Sum = T;
  static Sum load(Stored value) { return value; }
  static Stored store(Sum value) { return value; }
};

template <typename Type> void sum(const char *const *parts, int64_t partCount, int64_t count, char *out) {
  using Stored = typename Type::Stored;
  typename Type::Sum tile[kTile];
  for (int64_t first = 0; first < count; first += kTile) {
    int64_t length = std::min(kTile, count - first);
    for (int64_t part = 0; part < partCount; ++part) {
      const auto *from = reinterpret_cast<const Stored *>(parts[part]) + first;
      if (part == 0)
        for (int64_t i = 0; i < length; ++i)
          tile[i] = Type::load(from[i]);
      else
        for (int64_t i = 0; i < length; ++i)
          tile[i] += Type::load(from[i]);
    }
    auto *to = reinterpret_cast<Stored *>(out) + first;
    for (int64_t i = 0; i < length; ++i)
      to[i] = Type::store(tile[i]);
  }
}

struct Entry {
  int64_t bytes;
  void (*sum)(const char *const *, int64_t, int64_t, char *);
};

/// By farskip_dtype. Signed integers are added as unsigned ones: the same bits, and no overflow.
constexpr Entry kEntries[] = {{4, sum<Plain<float>>},    {2, sum<Float16>},         {2, sum<BFloat16>},
                              {8, sum<Plain<double>>},   {8, sum<Plain<uint64_t>>}, {4, sum<Plain<uint32_t>>},
                              {2, sum<Plain<uint16_t>>}, {1, sum<Plain<uint8_t>>},  {8, sum<Plain<uint64_t>>},
                              {4, sum<Plain<uint32_t>>}, {2, sum<Plain<uint16_t>>}, {1, sum<Plain<uint8_t>>}};
static_assert(FARSKIP_U8 + 1 == std::size(kEntries) && FARSKIP_BF16 == 2 && FARSKIP_I64 == 4 && FARSKIP_U64 == 8);

} // namespace

int64_t summableBytes(int64_t dtype) {
  return dtype >= 0 && dtype < static_cast<int64_t>(std::size(kEntries)) ? kEntries[dtype].bytes : 0;
}

void sumParts(int64_t dtype, const char *const *parts, int64_t partCount, int64_t count, char *out) {
  kEntries[dtype].sum(parts, partCount, count, out);
}

} // namespace farskip::runtime
