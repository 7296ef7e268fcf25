// Greedy generation: prompt in, one token a run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Main/Options.h"
#include "runtime/Ranks/Run.h"

namespace farskip::runtime {

/// Continues the prompt and prints the tokens as they come: as text with --prompt-text, as numbers otherwise. The
/// program needs an input with the role `tokens` and an output with the role `logits`; inputs with the roles
/// `attention_mask` (ones) and `position_ids` are filled. Where every cache input has its output, the prompt is
/// computed once and then one token a run, each rank keeping its own cache; otherwise the whole sequence for each
/// token. The ranks live until the last token. An error in `prepared` ends all of them.
Status generate(const Description &description, const Weights &weights, const Status &prepared,
                const ProgramOptions &options, const RunOptions &runOptions, std::vector<RankResults> &results);

} // namespace farskip::runtime
