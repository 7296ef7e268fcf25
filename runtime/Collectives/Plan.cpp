// Which rows of a MoE block go where.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Collectives/Plan.h"
#include <climits>
#include <cstring>

namespace farskip::runtime {

/// A message is made of 32-bit numbers: rows, pairs, the pairs of each row, the expert of each pair.
static int32_t *words(std::vector<char> &message) { return reinterpret_cast<int32_t *>(message.data()); }

Status Plan::assign(const int32_t *chosen, int64_t tokens, int64_t ranks, std::vector<std::vector<char>> &messages) {
  if (tokens * slots > INT32_MAX)
    return failure(kInputError, std::to_string(tokens) + " tokens with " + std::to_string(slots) +
                                    " experts each are more than a rank can route at once");
  owner.resize(experts);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Block block = blockOf(experts, rank, ranks);
    std::fill_n(owner.begin() + block.first, block.length, static_cast<int32_t>(rank));
  }
  sentFirst.assign(ranks + 1, 0);
  returnFirst.assign(ranks + 1, 0);
  lastToken.assign(ranks, -1);
  unusedSlots.clear();
  for (int64_t i = 0, token = 0; token < tokens; ++token)
    for (int64_t slot = 0; slot < slots; ++slot, ++i) {
      int32_t expert = chosen[i];
      if (expert == -1) {
        unusedSlots.push_back(i);
        continue;
      }
      if (expert < 0 || expert >= experts)
        return failure(kInputError, "slot " + std::to_string(slot) + " of token " + std::to_string(token) +
                                        " names expert " + std::to_string(expert) + ", which is not below " +
                                        std::to_string(experts));
      int32_t to = owner[expert];
      ++returnFirst[to + 1];
      if (lastToken[to] != token)
        ++sentFirst[to + 1];
      lastToken[to] = token;
    }
  messages.resize(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t rows = sentFirst[rank + 1], pairs = returnFirst[rank + 1];
    messages[rank].resize((2 + rows + pairs) * sizeof(int32_t));
    words(messages[rank])[0] = static_cast<int32_t>(rows);
    words(messages[rank])[1] = static_cast<int32_t>(pairs);
    std::fill_n(words(messages[rank]) + 2, rows, 0);
    sentFirst[rank + 1] += sentFirst[rank];
    returnFirst[rank + 1] += returnFirst[rank];
  }
  sentTokens.resize(sentFirst[ranks]);
  returnRows.resize(returnFirst[ranks]);
  // cursor: rows written for each rank, then pairs.
  cursor.assign(2 * ranks, 0);
  lastToken.assign(ranks, -1);
  for (int64_t i = 0, token = 0; token < tokens; ++token)
    for (int64_t slot = 0; slot < slots; ++slot, ++i) {
      if (chosen[i] < 0)
        continue;
      int32_t to = owner[chosen[i]];
      int64_t &row = cursor[to], &pair = cursor[ranks + to];
      if (lastToken[to] != token)
        sentTokens[sentFirst[to] + row++] = token;
      lastToken[to] = token;
      int32_t *message = words(messages[to]);
      ++message[2 + row - 1];
      message[2 + message[0] + pair] = chosen[i];
      returnRows[returnFirst[to] + pair++] = i;
    }
  return {};
}

bool Plan::collect(const std::vector<std::vector<char>> &messages, int64_t rank) {
  int64_t ranks = messages.size();
  Block mine = blockOf(experts, rank, ranks);
  receivedFirst.assign(ranks + 1, 0);
  pairFirst.assign(ranks + 1, 0);
  groupOffsets.assign(experts + 1, 0);
  pairRow.clear();
  pairExpert.clear();
  for (int64_t source = 0; source < ranks; ++source) {
    const std::vector<char> &message = messages[source];
    const auto *word = reinterpret_cast<const int32_t *>(message.data());
    uint64_t length = message.size() / sizeof(int32_t);
    if (length < 2 || word[0] < 0 || word[1] < 0 || length != 2 + static_cast<uint64_t>(word[0]) + word[1])
      return false;
    int64_t rows = word[0], pairs = word[1], pair = 0;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t end = pair + word[2 + row];
      if (end > pairs)
        return false;
      for (; pair < end; ++pair) {
        int32_t expert = word[2 + rows + pair];
        if (expert < mine.first || expert >= mine.first + mine.length)
          return false;
        pairRow.push_back(receivedFirst[source] + row);
        pairExpert.push_back(expert);
        ++groupOffsets[expert + 1];
      }
    }
    if (pair != pairs)
      return false;
    receivedFirst[source + 1] = receivedFirst[source] + rows;
    pairFirst[source + 1] = pairFirst[source] + pairs;
  }
  for (int64_t expert = 0; expert < experts; ++expert)
    groupOffsets[expert + 1] += groupOffsets[expert];
  cursor.assign(groupOffsets.begin(), groupOffsets.end());
  groupRows.resize(pairRow.size());
  pairPlace.resize(pairRow.size());
  for (size_t pair = 0; pair < pairRow.size(); ++pair) {
    int64_t place = cursor[pairExpert[pair]]++;
    groupRows[place] = pairRow[pair];
    pairPlace[pair] = place;
  }
  return true;
}

} // namespace farskip::runtime
