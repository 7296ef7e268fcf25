// Exchanges between the ranks of a run, and the interface of what moves them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace farskip::runtime {

enum class Kind : uint32_t {
  Plan,
  Dispatch,
  Combine,
  AllReduce,
  AllGather,
  Counts,
  ReduceScatter,
  AllToAll,
  Barrier,
  Handshake, ///< this and what follows belong to the run-time itself; the op is -1
  Agreement,
  Tokens,
  Results,
  Clock
};
constexpr int kKinds = 14;
/// As in the description: all_reduce, dispatch, …
const char *kindName(Kind kind);

/// Rows of one direction with one peer: contiguous at `base`, or those that `index` picks.
struct Rows {
  char *base = nullptr;
  const int64_t *index = nullptr;
  int64_t count = 0, rowBytes = 0;
  std::vector<char> *inbox = nullptr; ///< receives as much as the peer sends

  int64_t bytes() const { return count * rowBytes; }
};

/// What moves at once: for every peer what it gets and what comes from it. This rank's own entry stays empty.
struct Move {
  std::vector<Rows> send, receive;

  void reset(int64_t ranks) {
    send.assign(ranks, {});
    receive.assign(ranks, {});
  }
};

struct Plan;

/// One collective operation of one rank: one or two moves. Everyone's headers carry its sequence number, op and kind.
struct Exchange {
  Kind kind = Kind::Barrier;
  int64_t op = -1;
  uint64_t sequence = 0; ///< counts from 1
  Move moves[2];
  int moveCount = 1;
  /// Runs after each move, where the move was made; may fill the next one.
  void (*after)(Exchange &, int move) = nullptr;

  /// What `after` works on; its meaning is the operation's.
  int64_t rank = 0, ranks = 1, count = 0, dtype = 0;
  const char *in = nullptr;
  char *out = nullptr;
  std::vector<char> staging;
  std::vector<const char *> parts;
  std::vector<int64_t> counts;
  std::vector<std::vector<char>> outbox, inbox;
  Plan *plan = nullptr;

  int64_t startNs = 0; ///< when it was put into the queue
  int64_t movedNs = 0; ///< when its turn came
  int64_t doneNs = 0, sentBytes = 0;
  std::atomic<uint32_t> done{0};
  Exchange *next = nullptr; ///< in the queue of the transport
};

/// Moves the bytes of exchanges, in the order of their starts.
class Transport {
public:
  virtual ~Transport() = default;
  /// Returns at once. The exchange lives until its `done` is 1.
  virtual void start(Exchange &exchange) = 0;
};

} // namespace farskip::runtime
