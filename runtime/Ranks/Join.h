// Being one rank of a world that something else started.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Ranks/Launcher.h"

namespace farskip::runtime {

/// See `launchRanks`: this process is the rank that `options.world` says.
Status joinRanks(const Description &description, const Weights &weights, const Prepared &prepared,
                 const RunOptions &options, const RankBody &body, std::vector<RankResults> &results);

} // namespace farskip::runtime
