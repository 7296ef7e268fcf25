// A rank's view of the exchanges: it starts them, waits for them and measures them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Transport/Control.h"
#include "runtime/Transport/Transport.h"
#include <map>
#include <memory>
#include <utility>

namespace farskip::runtime {

struct Context;
struct Plan;

/// Totals of one operation on one rank.
struct OpTotals {
  int64_t count = 0, sentBytes = 0;
  int64_t exposedNs = 0; ///< spent in waits
  int64_t spanNs = 0;    ///< from starts to the arrival of the last byte
};

/// A piece of the timeline.
struct TraceEvent {
  enum Row : int64_t { Compute, Waiting, Exchanging } row;
  int64_t startNs, endNs, op;
  Kind kind;
  uint64_t sequence;
  int64_t bytes, queuedNs;
};

/// Used by the rank's main thread alone.
class Communicator {
public:
  explicit Communicator(Context &context);
  ~Communicator();
  /// With one rank there is no transport: every exchange ends where it starts.
  void connect(std::unique_ptr<Transport> transport, Control &control);
  void disconnect() { transport.reset(); }

  /// An exchange whose moves are empty. It is the communicator's, and used again after `release`.
  Exchange &open(Kind kind, int64_t op);
  void start(Exchange &exchange);
  /// The one place where a rank waits for others: ends the process when another rank failed, or at the deadline.
  void wait(Exchange &exchange);
  void release(Exchange &exchange);

  Plan &openPlan();
  void dropPlan(Plan &plan);

  /// After another rank has said that it fails.
  [[noreturn]] void awaitAbort();

  /// 0: no limit.
  void setDeadline(int64_t seconds) { deadlineNs = seconds * 1'000'000'000; }

  /// Everyone's text, by rank.
  std::vector<std::string> gather(Kind kind, const std::string &own);
  /// The same on rank 0, nothing elsewhere.
  std::vector<std::string> gatherAtFirst(Kind kind, const std::string &own);

  std::map<std::pair<int64_t, Kind>, OpTotals> totals;
  std::vector<TraceEvent> trace;
  bool tracing = false;
  /// Bounds of what counts as computing, for the trace.
  void beginCompute();
  void endCompute();

private:
  void await(Exchange &exchange);
  std::vector<std::string> gatherAt(Kind kind, const std::string &own, int64_t only);
  [[noreturn]] void timedOut(const Exchange &exchange, int64_t waitedNs);
  void recycle(Plan &plan);
  void addEvent(TraceEvent event);

  Context &context;
  std::unique_ptr<Transport> transport;
  Control *control = nullptr;
  uint64_t sequence = 0;
  int64_t deadlineNs = 0, computeSinceNs = 0;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<Exchange *> freeExchanges;
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<Plan *> freePlans;
};

} // namespace farskip::runtime
