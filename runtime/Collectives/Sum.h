// Sums over ranks, element by element.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace farskip::runtime {

/// Bytes of an element of a `farskip_dtype`; 0 for what is none, or cannot be summed.
int64_t summableBytes(int64_t dtype);

/// out[i] = parts[0][i] + parts[1][i] + …, in this order. f16 and bf16 are added in f32 and rounded once, integers wrap
/// around. `out` may be one of the parts.
void sumParts(int64_t dtype, const char *const *parts, int64_t partCount, int64_t count, char *out);

} // namespace farskip::runtime
