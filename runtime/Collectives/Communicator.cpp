// A rank's view of the exchanges.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Collectives/Communicator.h"
#include "runtime/Collectives/Plan.h"
#include "runtime/Transport/Futex.h"
#include <algorithm>

namespace farskip::runtime {

/// A rank looks around this often while it waits.
static constexpr int64_t kLookNs = 100'000'000;
/// A longer sleep than this was none of the peers' doing: the rank itself was stopped.
static constexpr int64_t kLongestLookNs = 1'000'000'000;
static constexpr int64_t kTurnNs = 50'000'000;
static constexpr size_t kMaxEvents = 1 << 20;

Communicator::Communicator(Context &context) : context(context) {}
Communicator::~Communicator() = default;

void Communicator::connect(std::unique_ptr<Transport> newTransport, Control &newControl) {
  transport = std::move(newTransport);
  control = &newControl;
}

Exchange &Communicator::open(Kind kind, int64_t op) {
  const auto &declared = context.description->collectives;
  if (op < -1 || (!declared.empty() && op >= static_cast<int64_t>(declared.size())))
    context.fail(kInternal,
                 std::string(kindName(kind)) + " has op " + std::to_string(op) + ", which the program lacks");
  if (freeExchanges.empty()) {
    exchanges.push_back(std::make_unique<Exchange>());
    freeExchanges.push_back(exchanges.back().get());
  }
  Exchange &exchange = *freeExchanges.back();
  freeExchanges.pop_back();
  exchange.kind = kind;
  exchange.op = op;
  exchange.sequence = ++sequence;
  exchange.moveCount = 1;
  exchange.after = nullptr;
  exchange.rank = context.rank;
  exchange.ranks = context.ranks;
  exchange.plan = nullptr;
  exchange.sentBytes = 0;
  exchange.done.store(0, std::memory_order_relaxed);
  for (Move &move : exchange.moves)
    move.reset(context.ranks);
  return exchange;
}

void Communicator::start(Exchange &exchange) {
  exchange.startNs = exchange.movedNs = nowNs();
  if (exchange.plan)
    ++exchange.plan->uses;
  if (control)
    control->record(context.rank, exchange, false);
  if (transport)
    return transport->start(exchange);
  for (int number = 0; number < exchange.moveCount; ++number)
    if (exchange.after)
      exchange.after(exchange, number);
  exchange.doneNs = nowNs();
  exchange.done.store(1, std::memory_order_relaxed);
}

void Communicator::wait(Exchange &exchange) {
  endCompute();
  int64_t from = nowNs();
  await(exchange);
  int64_t to = nowNs();
  OpTotals &total = totals[{exchange.op, exchange.kind}];
  ++total.count;
  total.sentBytes += exchange.sentBytes;
  total.exposedNs += to - from;
  total.spanNs += exchange.doneNs - exchange.startNs;
  if (tracing) {
    addEvent({TraceEvent::Waiting, from, to, exchange.op, exchange.kind, exchange.sequence, 0, 0});
    addEvent({TraceEvent::Exchanging, exchange.movedNs, exchange.doneNs, exchange.op, exchange.kind, exchange.sequence,
              exchange.sentBytes, exchange.movedNs - exchange.startNs});
  }
  computeSinceNs = to;
}

void Communicator::await(Exchange &exchange) {
  // The lowest rank that waits is the one that says so.
  int64_t limit = deadlineNs ? deadlineNs + std::min<int64_t>(context.rank, 10) * kTurnNs : 0, waited = 0;
  while (!exchange.done.load(std::memory_order_acquire)) {
    int64_t from = nowNs();
    futexWait(exchange.done, 0, FutexScope::Process, limit ? std::min(kLookNs, limit - waited) : kLookNs);
    waited += std::min(nowNs() - from, kLongestLookNs);
    if (control->abort)
      ::_exit(kPeerFailed);
    if (limit && waited >= limit && !exchange.done.load(std::memory_order_acquire))
      timedOut(exchange, waited);
  }
}

void Communicator::awaitAbort() {
  while (!control->abort)
    ::usleep(1000);
  ::_exit(kPeerFailed);
}

void Communicator::timedOut(const Exchange &exchange, int64_t waitedNs) {
  // Exchanges run in order: the first that is not done holds up the rest.
  uint64_t blocked = control->states[context.rank].finished + 1;
  std::string arrived, missing;
  for (int64_t rank = 0; rank < context.ranks; ++rank) {
    bool here = control->states[rank].started >= blocked;
    if (here)
      arrived += (arrived.empty() ? "" : ", ") + std::to_string(rank);
    else
      missing += (missing.empty() ? "" : "; ") + control->lastText(context.description, rank);
  }
  if (missing.empty())
    for (int64_t rank = 0; rank < context.ranks; ++rank)
      if (rank != context.rank && control->states[rank].finished < blocked)
        missing += (missing.empty() ? "" : "; ") + control->lastText(context.description, rank);
  context.fail(kDeadline, "waited " + std::to_string(waitedNs / 1'000'000'000) + " s in exchange " +
                              std::to_string(exchange.sequence) + ", " +
                              Control::opText(context.description, exchange.kind, exchange.op) +
                              (blocked < exchange.sequence ? ", behind exchange " + std::to_string(blocked) : "") +
                              "; arrived: " + arrived + "; missing: " + (missing.empty() ? "none" : missing) +
                              "; FARSKIP_TIMEOUT_S sets the limit");
}

void Communicator::release(Exchange &exchange) {
  if (Plan *plan = exchange.plan; plan && !--plan->uses && plan->dropped)
    recycle(*plan);
  freeExchanges.push_back(&exchange);
}

Plan &Communicator::openPlan() {
  if (freePlans.empty()) {
    plans.push_back(std::make_unique<Plan>());
    freePlans.push_back(plans.back().get());
  }
  Plan &plan = *freePlans.back();
  freePlans.pop_back();
  plan.dropped = false;
  return plan;
}

void Communicator::dropPlan(Plan &plan) {
  plan.dropped = true;
  if (!plan.uses)
    recycle(plan);
}

void Communicator::recycle(Plan &plan) { freePlans.push_back(&plan); }

std::vector<std::string> Communicator::gather(Kind kind, const std::string &own) { return gatherAt(kind, own, -1); }

std::vector<std::string> Communicator::gatherAtFirst(Kind kind, const std::string &own) {
  std::vector<std::string> all = gatherAt(kind, own, 0);
  return context.rank ? std::vector<std::string>() : all;
}

std::vector<std::string> Communicator::gatherAt(Kind kind, const std::string &own, int64_t only) {
  Exchange &exchange = open(kind, -1);
  exchange.inbox.resize(context.ranks);
  for (int64_t peer = 0; peer < context.ranks; ++peer) {
    int64_t bytes = only < 0 || only == peer ? own.size() : 0;
    exchange.moves[0].send[peer] = {const_cast<char *>(own.data()), nullptr, bytes, 1};
    exchange.moves[0].receive[peer].inbox = &exchange.inbox[peer];
  }
  start(exchange);
  wait(exchange);
  std::vector<std::string> all;
  for (int64_t peer = 0; peer < context.ranks; ++peer)
    all.push_back(peer == context.rank ? own : std::string(exchange.inbox[peer].data(), exchange.inbox[peer].size()));
  release(exchange);
  return all;
}

void Communicator::addEvent(TraceEvent event) {
  if (trace.size() < kMaxEvents)
    trace.push_back(event);
}

void Communicator::beginCompute() { computeSinceNs = nowNs(); }

void Communicator::endCompute() {
  if (tracing && computeSinceNs)
    addEvent({TraceEvent::Compute, computeSinceNs, nowNs(), -1, Kind::Barrier, sequence, 0, 0});
  computeSinceNs = 0;
}

} // namespace farskip::runtime
