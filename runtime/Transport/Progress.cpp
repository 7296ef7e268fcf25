// A transport over byte streams, moved by a thread of its own.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Transport/Progress.h"
#include "runtime/Transport/Futex.h"
#include <algorithm>
#include <cstring>

namespace farskip::runtime {

static constexpr int kParts = 64;

Progress::Progress(std::unique_ptr<Links> links, Control &control, int64_t rank, const Description *description,
                   Failed failed, void *context)
    : links(std::move(links)), control(control), rank(rank), ranks(control.ranks), description(description),
      failed(failed), context(context), sends(ranks), receives(ranks), writing(new bool[ranks]()),
      reading(new bool[ranks]()) {}

Progress::~Progress() {
  if (!thread.joinable())
    return;
  stopping = true;
  links->wake();
  thread.join();
}

void Progress::start(Exchange &exchange) {
  exchange.next = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex);
    (first ? last->next : first) = &exchange;
    last = &exchange;
  }
  if (!thread.joinable())
    thread = std::thread([this] { work(); });
  links->wake();
}

Exchange *Progress::takeNext() {
  std::lock_guard<std::mutex> lock(mutex);
  Exchange *taken = first;
  if (taken)
    first = taken->next;
  return taken;
}

void Progress::work() {
  while (true) {
    uint32_t ticket = links->ticket();
    if (stopping)
      return;
    if (Exchange *exchange = takeNext()) {
      perform(*exchange);
    } else {
      std::fill_n(writing.get(), ranks, false);
      std::fill_n(reading.get(), ranks, false);
      links->sleep(ticket, writing.get(), reading.get());
    }
  }
}

void Progress::perform(Exchange &exchange) {
  exchange.movedNs = nowNs();
  for (int number = 0; number < exchange.moveCount; ++number) {
    move(exchange, number);
    if (exchange.after)
      exchange.after(exchange, number);
  }
  exchange.doneNs = nowNs();
  control.record(rank, exchange, true);
  // The owner may reuse the exchange as soon as it sees the flag: nothing of it is read after that.
  std::atomic<uint32_t> &done = exchange.done;
  done.store(1, std::memory_order_release);
  futexWake(done, FutexScope::Process);
}

void Progress::move(Exchange &exchange, int number) {
  Move &move = exchange.moves[number];
  int64_t open = 0;
  for (int64_t peer = 0; peer < ranks; ++peer) {
    sends[peer] = {{exchange.sequence, exchange.op, static_cast<uint32_t>(exchange.kind), static_cast<uint32_t>(number),
                    static_cast<uint64_t>(move.send[peer].bytes())},
                   0,
                   move.send[peer],
                   0,
                   0,
                   peer == rank};
    receives[peer] = {{}, 0, move.receive[peer], 0, 0, peer == rank};
    open += peer == rank ? 0 : 2;
    exchange.sentBytes += peer == rank ? 0 : move.send[peer].bytes();
  }
  while (open) {
    uint32_t ticket = links->ticket();
    bool moved = false;
    // Each rank begins with its successor, so that not all of them feed one peer first.
    for (int64_t i = 1; i < ranks; ++i) {
      int64_t to = (rank + i) % ranks, from = (rank + ranks - i) % ranks;
      for (auto [flow, peer, sending] : {std::tuple{&sends[to], to, true}, std::tuple{&receives[from], from, false}}) {
        if (flow->finished)
          continue;
        moved |= step(exchange, peer, *flow, sending);
        open -= flow->finished;
      }
    }
    if (moved || !open)
      continue;
    for (int64_t peer = 0; peer < ranks; ++peer) {
      writing[peer] = !sends[peer].finished;
      reading[peer] = !receives[peer].finished;
    }
    links->sleep(ticket, writing.get(), reading.get());
  }
}

/// The header's rest and the next rows, adjoining ones as one part.
int Progress::parts(Flow &flow, bool sending, iovec *parts, int limit) {
  int count = 0;
  bool headerOpen = flow.headerDone < sizeof(Header);
  if (headerOpen)
    parts[count++] = {reinterpret_cast<char *>(&flow.header) + flow.headerDone, sizeof(Header) - flow.headerDone};
  // What comes behind a header is known once it has been checked.
  if (headerOpen && !sending)
    return count;
  const Rows &rows = flow.rows;
  int64_t offset = flow.offset;
  for (int64_t row = flow.row; row < rows.count && rows.rowBytes; offset = 0) {
    if (!rows.index) {
      if (count < limit)
        parts[count++] = {rows.base + row * rows.rowBytes + offset,
                          static_cast<size_t>((rows.count - row) * rows.rowBytes - offset)};
      break;
    }
    char *at = rows.base + rows.index[row] * rows.rowBytes + offset;
    size_t bytes = rows.rowBytes - offset;
    iovec *before = count > headerOpen ? &parts[count - 1] : nullptr;
    if (before && static_cast<char *>(before->iov_base) + before->iov_len == at)
      before->iov_len += bytes;
    else if (count < limit)
      parts[count++] = {at, bytes};
    else
      break;
    ++row;
  }
  return count;
}

void Progress::advance(Flow &flow, size_t bytes) {
  size_t ofHeader = std::min(bytes, sizeof(Header) - flow.headerDone);
  flow.headerDone += ofHeader;
  if (!flow.rows.rowBytes)
    return;
  int64_t position = flow.offset + static_cast<int64_t>(bytes - ofHeader);
  flow.row += position / flow.rows.rowBytes;
  flow.offset = position % flow.rows.rowBytes;
}

bool Progress::step(const Exchange &exchange, int64_t peer, Flow &flow, bool sending) {
  bool moved = false;
  while (true) {
    iovec list[kParts];
    int count = parts(flow, sending, list, kParts);
    size_t bytes = 0;
    if (count) {
      bytes = sending ? links->write(peer, list, count) : links->read(peer, list, count);
      if (!bytes)
        return moved;
      moved = true;
    }
    bool headerWasOpen = flow.headerDone < sizeof(Header);
    advance(flow, bytes);
    bool headerOpen = flow.headerDone < sizeof(Header);
    if (!sending && headerWasOpen && !headerOpen)
      checkHeader(exchange, peer, flow);
    if (!headerOpen && (flow.row >= flow.rows.count || !flow.rows.rowBytes)) {
      flow.finished = true;
      return true;
    }
  }
}

void Progress::checkHeader(const Exchange &exchange, int64_t peer, Flow &flow) {
  const Header &header = flow.header;
  // Where the ranks share no memory this is how one knows of another.
  if (RankState &state = control.states[peer]; state.started < header.sequence) {
    state.startedOp = header.op;
    state.startedKind = static_cast<Kind>(header.kind);
    state.started = header.sequence;
  }
  auto side = [&](int64_t who, uint64_t sequence, Kind kind, int64_t op) {
    return "rank " + std::to_string(who) + " is in exchange " + std::to_string(sequence) + ", " +
           Control::opText(description, kind, op);
  };
  if (header.sequence != exchange.sequence || header.op != exchange.op ||
      header.kind != static_cast<uint32_t>(exchange.kind))
    failed(context, kInternal,
           "the ranks are not in the same exchange: " + side(rank, exchange.sequence, exchange.kind, exchange.op) +
               "; " + side(peer, header.sequence, static_cast<Kind>(header.kind), header.op));
  if (flow.rows.inbox) {
    flow.rows.inbox->resize(header.bytes);
    flow.rows = {flow.rows.inbox->data(), nullptr, static_cast<int64_t>(header.bytes), 1, flow.rows.inbox};
  }
  if (header.bytes != static_cast<uint64_t>(flow.rows.bytes()))
    failed(context, kInternal,
           "the ranks disagree on the size of exchange " + std::to_string(exchange.sequence) + ", " +
               Control::opText(description, exchange.kind, exchange.op) + ": rank " + std::to_string(peer) + " sends " +
               std::to_string(header.bytes) + " bytes, rank " + std::to_string(rank) + " wants " +
               std::to_string(flow.rows.bytes()));
}

} // namespace farskip::runtime
