// Sums over ranks, element by element.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Collectives/Sum.h"
#include "farskip/rt.h"
#include <algorithm>
#include <bit>
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

struct BFloat16 {
  using Stored = uint16_t;
  using Sum = float;
  static Sum load(Stored value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }
  static Stored store(Sum value) {
    auto bits = std::bit_cast<uint32_t>(value);
    if (value != value)
      return static_cast<Stored>(bits >> 16 | 0x40);
    return static_cast<Stored>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

struct Float16 {
  using Stored = uint16_t;
  using Sum = float;
  static Sum load(Stored value) {
    uint32_t sign = static_cast<uint32_t>(value & 0x8000) << 16, rest = static_cast<uint32_t>(value & 0x7fff) << 13;
    // Scaling by 2^112 moves the exponent's bias, subnormals included; infinities and NaNs keep theirs.
    float scaled = std::bit_cast<float>(rest) * 0x1p112f;
    uint32_t bits = (value & 0x7c00) == 0x7c00 ? rest | 0x7f800000 : std::bit_cast<uint32_t>(scaled);
    return std::bit_cast<float>(bits | sign);
  }
  static Stored store(Sum value) {
    auto bits = std::bit_cast<uint32_t>(value);
    auto sign = static_cast<Stored>(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
      return sign | 0x7e00 | (bits >> 13 & 0x3ff);
    if (bits >= 0x477ff000) // from here on everything rounds to infinity
      return sign | 0x7c00;
    if (bits < 0x38800000) // subnormal: the addition of 0.5 rounds at the last place that f16 has
      return sign | static_cast<Stored>(std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3f000000);
    return sign | static_cast<Stored>((bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13);
  }
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
