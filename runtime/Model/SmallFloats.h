// Numbers of 16 bits, which are computed with in f32.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace farskip::runtime {

/// The upper half of an f32; `store` rounds to nearest, ties to even, and keeps NaNs.
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

/// IEEE binary16; `store` rounds to nearest, ties to even.
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

} // namespace farskip::runtime
