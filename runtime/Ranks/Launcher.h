// Starts the ranks of a run and reports the first failure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Ranks/Results.h"
#include "runtime/Ranks/World.h"
#include <functional>

namespace farskip::runtime {

/// What moves the bytes between ranks.
enum class Transports { Shm, Tcp };

struct RunOptions {
  int64_t threads = 0; ///< of each rank; 0: cores divided by ranks
  int64_t repeat = 1;
  int64_t timeout = -1; ///< seconds; -1: 300 until the first run is done, then 60; 0: none
  bool trace = false;
  Transports transport = Transports::Shm;
  World world; ///< where it is present, this process is one rank, and the transport is TCP
};

/// What one rank does, in its main thread: fills the context's outputs and times, and fails through it.
using RankBody = std::function<void(Context &)>;

/// What came before the ranks, in this process.
struct Prepared {
  Status status; ///< an error ends all ranks
  /// What all ranks have to agree on beside the program itself: a line `what<tab>value` for each.
  std::string names;
};

/// One rank runs in this process; several are forked, or, in a world, are other processes. They begin with a handshake
/// and end when all are done. On success `results` has an entry for each rank; in a world, on rank 0 alone, and nothing
/// elsewhere. The first failure is reported, with its rank.
Status launchRanks(const Description &description, const Weights &weights, const Prepared &prepared,
                   const RunOptions &options, const RankBody &body, std::vector<RankResults> &results);

/// FARSKIP_TIMEOUT_S.
Status readTimeout(RunOptions &options);

} // namespace farskip::runtime
