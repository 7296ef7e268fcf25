// The place of this process among ranks that a launcher started.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Error.h"
#include <cstdint>

namespace farskip::runtime {

struct World {
  bool present = false; ///< false: this process starts its ranks itself
  int64_t rank = 0, ranks = 1;
  std::string host; ///< of rank 0
  int port = 0;
};

/// From torchrun's variables, else from those of a Slurm step, else from Open MPI's. A world of one rank is none.
Status readWorld(World &world);

} // namespace farskip::runtime
