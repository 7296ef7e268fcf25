// What the ranks of a run and their launcher know of one another: progress, records, and the first failure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Model/Description.h"
#include "runtime/Transport/Transport.h"

namespace farskip::runtime {

/// Where a rank says why it ended.
struct Report {
  int code;
  char message[1024];
};

/// One start or end of an exchange.
struct Record {
  uint64_t sequence;
  int64_t op, ns;
  Kind kind;
  bool finished;
};
constexpr int kRecords = 256;

struct RankState {
  std::atomic<uint64_t> started, finished; ///< sequence numbers, 0: none
  std::atomic<int64_t> startedOp;
  std::atomic<Kind> startedKind;
  std::atomic<uint32_t> complete; ///< 1: all its work is done
  std::atomic<uint32_t> doorbell, sleeping;
  std::atomic<uint64_t> recordCount;
  Record records[kRecords];
  Report report;
};

/// Lies in memory that all ranks share; in private memory where every rank is a process that something else started,
/// and then it holds what this rank has heard of the others. All-zero is its initial state.
struct Control {
  std::atomic<uint32_t> abort; ///< 0, or 1 + the rank that failed first
  int64_t ranks;
  RankState states[];

  static size_t bytes(int64_t ranks) { return sizeof(Control) + ranks * sizeof(RankState); }

  /// Records the failure of `rank` unless another came first, and wakes everyone. Async-signal-safe.
  bool claim(int64_t rank, int code, const char *message);
  /// Wakes a rank that sleeps for its peers.
  void ring(int64_t rank);
  void ringAll();
  void record(int64_t rank, const Exchange &exchange, bool finished);

  /// `dispatch 'name' of layer 3 (op 5)`.
  static std::string opText(const Description *description, Kind kind, int64_t op);
  /// `rank 1: last in exchange 7, dispatch …`.
  std::string lastText(const Description *description, int64_t rank) const;
  /// The records of every rank, oldest first, one a line.
  void dump(const Description *description, int64_t originNs) const;
};

} // namespace farskip::runtime
