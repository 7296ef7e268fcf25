// What --profile and --trace show. README.md lists the fields.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Ranks/Results.h"

namespace farskip::runtime {

/// Seconds that the process that the user started spent outside of the ranks.
struct ProgramTimes {
  double load = 0;  ///< weights and inputs
  double ranks = 0; ///< from the launch of the ranks to their end
  double outputs = 0;
};

std::string profileTable(const Description &description, const std::vector<RankResults> &results,
                         const ProgramTimes &times);
/// One JSON object on one line.
std::string profileJson(const Description &description, const std::vector<RankResults> &results,
                        const ProgramTimes &times);
/// Chrome trace events of all ranks: a process for each rank, in it a row for computing and waiting and one for the
/// communicator.
std::string traceJson(const Description &description, const std::vector<RankResults> &results);

} // namespace farskip::runtime
