// What every rank does, whoever started it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Ranks/Launcher.h"

namespace farskip::runtime {

/// Threads, deadlines and tracing. `localRanks` share this machine's cores.
void setUp(Context &context, const RunOptions &options, int64_t localRanks);

/// A deadline of `options` for the start and the first run, in seconds.
int64_t startTimeout(const RunOptions &options);

/// Fails when the ranks do not have the same program, weights and inputs.
void shakeHands(Context &context, const std::string &names);

/// For transports: `context` is the rank's Context.
void failRank(void *context, int code, const std::string &message);

} // namespace farskip::runtime
