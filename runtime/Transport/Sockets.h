// TCP connections between all ranks of a run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Error.h"
#include <cstdint>
#include <vector>

namespace farskip::runtime {

/// Two connections of a rank to each other one: for data, and for notices of its end. -1 at its own place.
struct Mesh {
  std::vector<int> data, notices;
  void close();
};

/// Where a rank that something else started finds the others.
struct Meeting {
  int64_t rank = 0, ranks = 1;
  std::string host;
  int port = 0;
  std::string buildId;
  int64_t timeout = 0; ///< seconds, 0: none
};

/// Connects every rank with every other: rank 0 listens at the meeting's address, learns everyone's and tells them.
/// Ranks of another program or of a run of another size are refused, on all ranks with the same message.
Status meet(const Meeting &meeting, Mesh &mesh);

/// The meshes of `ranks` ranks that are still to be forked from this process, over the loopback device.
Status meetLocally(int64_t ranks, std::vector<Mesh> &meshes);

} // namespace farskip::runtime
