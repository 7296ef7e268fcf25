// Scheduling without IR: what is to be ordered, and whether an order is one.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_SCHEDULE_PROBLEM_H
#define FARSKIP_PASSES_SCHEDULE_PROBLEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace farskip::schedule {

/// One operation. Compute runs on the rank's one processor, in the order of the schedule. A start takes `seconds` of
/// the processor, then its exchange occupies the link for `transfer` seconds, after those started before it; a wait
/// cannot end before the exchange of its start has.
struct Task {
  enum class Kind { Compute, Start, Wait } kind = Kind::Compute;
  double seconds = 0;         ///< of the processor
  double transfer = 0;        ///< of the link; starts only
  int64_t start = -1;         ///< the start that a wait waits for
  std::vector<int64_t> after; ///< tasks that have to come before this one
  std::string name;
};

/// Tasks in their original order, which is a legal one.
struct Problem {
  std::vector<Task> tasks;
  /// Fails when the original order is none: a dependence on a later task, a wait without a start of its own, a start
  /// that is waited for twice or never, a negative or infinite time.
  llvm::Error check() const;
};

/// An order of all tasks with the times at which they begin and end.
struct Schedule {
  std::vector<int64_t> order;
  std::vector<double> begin, end; ///< of the processor, by task
  std::vector<double> arrival;    ///< of a start: when its exchange is done; else 0
  double makespan = 0;
  /// Seconds that the processor stood still in each wait, by task.
  std::vector<double> exposed;
};

/// Simulates an order. The order has to be legal.
Schedule simulate(const Problem &problem, llvm::ArrayRef<int64_t> order);

/// Fails when `order` leaves out or repeats a task, breaks a dependence, or waits before it starts.
llvm::Error verify(const Problem &problem, llvm::ArrayRef<int64_t> order);

/// List scheduling: of the tasks that may run now the one with the longest way to the end, starts before all else,
/// waits whose exchange is still under way after all else; the original order decides last. Never longer than the
/// original order: where it would be, that order is kept. Time is O(n log n + edges).
Schedule listSchedule(const Problem &problem);

/// The shortest schedule, by branch and bound; nothing when it takes more than `maxNodes` steps. For small problems.
std::optional<Schedule> exactSchedule(const Problem &problem, int64_t maxNodes = 2000000);

} // namespace farskip::schedule

#endif
