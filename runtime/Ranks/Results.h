// What the ranks have at the end of a run: outputs, times, totals of their exchanges.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Context/Context.h"

namespace farskip::runtime {

struct RankResults {
  std::vector<Buffer> outputs;
  std::vector<double> seconds; ///< of each run
  double startSeconds = 0;     ///< from the launch to the first run
  std::map<std::pair<int64_t, Kind>, OpTotals> totals;
  std::vector<TraceEvent> trace;
};

/// Moves them out of a rank's context.
RankResults takeResults(Context &context);

/// Between processes, through a file.
bool sendResults(int fd, const RankResults &results);
bool receiveResults(int fd, const Description &description, RankResults &results);

/// This rank's slices of whole inputs; those that are not sharded are used as they are.
Status sliceInputs(Context &context, const std::vector<Buffer> &whole);
Status sliceInput(Context &context, const Buffer &whole, size_t index);

/// The whole outputs, from every rank's part.
Status joinOutputs(const Description &description, std::vector<RankResults> &parts, std::vector<Buffer> &outputs);

} // namespace farskip::runtime
