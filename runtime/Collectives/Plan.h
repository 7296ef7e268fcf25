// Which rows of a MoE block go where.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Context/Context.h"

namespace farskip::runtime {

/// Where this rank's tokens go, and what comes from the others. Ranges of rank r in a list are [first[r], first[r+1]).
/// A pair is a row and one of its slots. All lists keep their memory when a plan is used again.
struct Plan {
  int64_t slots = 0, experts = 0;

  /// Tokens that leave for each rank, ascending, and where their pairs' results go in [tokens, slots].
  std::vector<int64_t> sentFirst, sentTokens, returnFirst, returnRows;
  std::vector<int64_t> unusedSlots;

  /// Rows and pairs that come from each rank; per pair its received row, its expert and its place in group order.
  std::vector<int64_t> receivedFirst, pairFirst, pairRow, pairExpert, pairPlace;
  std::vector<int64_t> groupOffsets, groupRows;

  int64_t uses = 0; ///< exchanges under way that read it
  bool dropped = false;

  /// Fills the first half, and for every rank the message that tells it what comes: numbers of rows and pairs, for each
  /// row the number of its pairs, for each pair its expert. An expert number out of range is an error.
  Status assign(const int32_t *experts, int64_t tokens, int64_t ranks, std::vector<std::vector<char>> &messages);
  /// Fills the second half from everyone's messages. False when one of them is damaged.
  bool collect(const std::vector<std::vector<char>> &messages, int64_t rank);

private:
  std::vector<int32_t> owner;
  std::vector<int64_t> lastToken, cursor;
};

} // namespace farskip::runtime
