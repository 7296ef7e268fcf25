// How generated kernels use the vector registers of a CPU.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_TARGET_KERNELSHAPE_H
#define FARSKIP_COMPILER_TARGET_KERNELSHAPE_H

#include <cstdint>

namespace farskip {

struct KernelShape {
  int64_t lanes = 16; ///< f32 in a register
  int64_t width = 64; ///< columns of a panel of weights
};

} // namespace farskip

#endif
