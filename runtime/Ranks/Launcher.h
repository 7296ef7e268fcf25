// Starts the ranks of a run and reports the first failure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Ranks/Results.h"
#include <functional>

namespace farskip::runtime {

struct RunOptions {
  int64_t threads = 0; ///< of each rank; 0: cores divided by ranks
  int64_t repeat = 1;
  int64_t timeout = -1; ///< seconds; -1: 300 until the first run is done, then 60; 0: none
  bool trace = false;
};

/// What one rank does, in its main thread: fills the context's outputs and times, and fails through it.
using RankBody = std::function<void(Context &)>;

/// One rank runs in this process; several are forked, begin with a handshake and end when all are done. `names` stands
/// for what all ranks have to agree on beside the program itself (inputs, their types and shapes). On success `results`
/// has an entry for each rank. The first failure is reported, with its rank.
Status launchRanks(const Description &description, const Weights &weights, const std::string &names,
                   const RunOptions &options, const RankBody &body, std::vector<RankResults> &results);

/// FARSKIP_TIMEOUT_S.
Status readTimeout(RunOptions &options);

} // namespace farskip::runtime
