// What the ranks of a run know of one another.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Transport/Control.h"
#include "runtime/Transport/Futex.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

namespace farskip::runtime {

const char *kindName(Kind kind) {
  static const char *const names[kKinds] = {"plan",      "dispatch",       "combine",    "all_reduce", "all_gather",
                                            "counts",    "reduce_scatter", "all_to_all", "barrier",    "handshake",
                                            "agreement", "tokens",         "results",    "clock"};
  return static_cast<uint32_t>(kind) < kKinds ? names[static_cast<uint32_t>(kind)] : "unknown operation";
}

bool Control::claim(int64_t rank, int code, const char *message) {
  Report &report = states[rank].report;
  if (report.code)
    return false;
  size_t length = std::min(std::strlen(message), sizeof report.message - 1);
  std::memcpy(report.message, message, length);
  report.message[length] = '\0';
  report.code = code;
  uint32_t none = 0;
  bool first = abort.compare_exchange_strong(none, static_cast<uint32_t>(rank + 1));
  ringAll();
  return first;
}

void Control::ring(int64_t rank) {
  RankState &state = states[rank];
  state.doorbell.fetch_add(1);
  if (state.sleeping.load())
    futexWake(state.doorbell, FutexScope::Shared);
}

void Control::ringAll() {
  for (int64_t rank = 0; rank < ranks; ++rank)
    ring(rank);
}

void Control::record(int64_t rank, const Exchange &exchange, bool finished) {
  RankState &state = states[rank];
  Record &record = state.records[state.recordCount.fetch_add(1) % kRecords];
  record = {exchange.sequence, exchange.op, nowNs(), exchange.kind, finished};
  if (finished) {
    state.finished = exchange.sequence;
  } else {
    state.startedOp = exchange.op;
    state.startedKind = exchange.kind;
    state.started = exchange.sequence;
  }
}

std::string Control::opText(const Description *description, Kind kind, int64_t op) {
  std::string text = kindName(kind);
  if (op < 0)
    return text;
  if (description && op < static_cast<int64_t>(description->collectives.size())) {
    const Collective &collective = description->collectives[op];
    if (!collective.name.empty())
      text += " '" + escaped(collective.name) + "'";
    if (collective.layer >= 0)
      text += " of layer " + std::to_string(collective.layer);
  }
  return text + " (op " + std::to_string(op) + ")";
}

std::string Control::lastText(const Description *description, int64_t rank) const {
  const RankState &state = states[rank];
  std::string text = "rank " + std::to_string(rank) + ": ";
  uint64_t started = state.started;
  if (!started)
    return text + "no exchange yet";
  return text + "last " + (state.finished < started ? "in" : "after") + " exchange " + std::to_string(started) + ", " +
         opText(description, state.startedKind, state.startedOp);
}

void Control::dump(const Description *description, int64_t originNs) const {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    uint64_t count = states[rank].recordCount;
    for (uint64_t i = count > kRecords ? count - kRecords : 0; i < count; ++i) {
      const Record &record = states[rank].records[i % kRecords];
      std::fprintf(stderr, "note: rank %lld: %.6f s: exchange %llu %s, %s\n", static_cast<long long>(rank),
                   static_cast<double>(record.ns - originNs) * 1e-9, static_cast<unsigned long long>(record.sequence),
                   record.finished ? "done" : "started", opText(description, record.kind, record.op).c_str());
    }
  }
}

} // namespace farskip::runtime
