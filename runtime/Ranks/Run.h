// Runs the program on its ranks and brings their outputs together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Ranks/Launcher.h"

namespace farskip::runtime {

/// One run of the program on this rank, measured.
void runOnce(Context &context);

/// `options.repeat` runs on every rank, unless `prepared` is an error. On success `outputs` holds the whole outputs of
/// the last, `results` the rest of what each rank has; nothing on the other ranks of a world.
Status runProgram(const Description &description, const Weights &weights, const Status &prepared,
                  const std::vector<Buffer> &inputs, const RunOptions &options, std::vector<Buffer> &outputs,
                  std::vector<RankResults> &results);

} // namespace farskip::runtime
