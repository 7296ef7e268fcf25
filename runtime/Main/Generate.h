// Greedy generation: prompt in, one token a run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Main/Options.h"
#include "runtime/Ranks/Launcher.h"

namespace farskip::runtime {

/// Continues the prompt and prints the tokens as they come: as text with
/// --prompt-text, as numbers otherwise. The program needs an input with the
/// role `tokens` and an output with the role `logits`; the whole sequence is
/// computed for each token.
Status generate(const Description &description, const Weights &weights, const ProgramOptions &options, RunTimes &times);

} // namespace farskip::runtime
