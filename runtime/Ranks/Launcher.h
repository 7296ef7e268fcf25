// Runs the program on its ranks and brings their outputs together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Context/Context.h"

namespace farskip::runtime {

struct RunOptions {
  int64_t threads = 0; ///< of each rank; 0: cores divided by ranks
  int64_t repeat = 1;
};

struct RunTimes {
  std::vector<double> seconds; ///< of each repetition, on rank 0
};

/// One rank runs in this process; several are forked. On success `outputs`
/// holds the whole outputs. The first failure is reported, with its rank.
Status runProgram(const Description &description, const Weights &weights, const std::vector<Buffer> &inputs,
                  const RunOptions &options, std::vector<Buffer> &outputs, RunTimes &times);

} // namespace farskip::runtime
