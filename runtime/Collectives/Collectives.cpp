// The collectives of the C interface.
// SPDX-License-Identifier: Apache-2.0
#include "farskip/rt.h"
#include "runtime/Collectives/Communicator.h"
#include "runtime/Collectives/Plan.h"
#include "runtime/Collectives/Sum.h"
#include <cstring>
#include <numeric>

using namespace farskip::runtime;

namespace {

Context &of(farskip_rt_context *context) { return *reinterpret_cast<Context *>(context); }
Plan &of(farskip_rt_plan *plan) { return *reinterpret_cast<Plan *>(plan); }
Exchange &of(farskip_rt_request *request) { return *reinterpret_cast<Exchange *>(request); }
farskip_rt_request *handle(Exchange &exchange) { return reinterpret_cast<farskip_rt_request *>(&exchange); }

void copyBytes(void *to, const void *from, int64_t bytes) {
  if (bytes && to != from)
    std::memcpy(to, from, bytes);
}

/// What goes from this rank to itself.
void copyRows(const Rows &from, const Rows &to) {
  if (!from.index && !to.index)
    return copyBytes(to.base, from.base, from.bytes());
  for (int64_t i = 0; i < from.count; ++i)
    copyBytes(to.base + (to.index ? to.index[i] : i) * to.rowBytes,
              from.base + (from.index ? from.index[i] : i) * from.rowBytes, from.rowBytes);
}

/// Makes a row of `parts` for each rank from what lies at `base`, `counts[r]` rows for rank r.
void contiguousParts(std::vector<Rows> &parts, const void *base, const int64_t *counts, int64_t rowBytes) {
  char *at = const_cast<char *>(static_cast<const char *>(base));
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    parts[rank] = {at, nullptr, counts[rank], rowBytes};
    at += counts[rank] * rowBytes;
  }
}

farskip_rt_request *startWithOwnRows(Context &context, Exchange &exchange) {
  const Rows &from = exchange.moves[0].send[context.rank], &to = exchange.moves[0].receive[context.rank];
  if (from.count != to.count)
    context.fail(kInternal, Control::opText(context.description, exchange.kind, exchange.op) +
                                ": a rank sends itself " + std::to_string(from.count) + " rows and wants " +
                                std::to_string(to.count));
  copyRows(from, to);
  context.communicator->start(exchange);
  return handle(exchange);
}

int64_t sumSize(Context &context, Kind kind, int64_t dtype) {
  int64_t bytes = summableBytes(dtype);
  if (!bytes)
    context.fail(kInternal, std::string(kindName(kind)) + " of elements of type " + std::to_string(dtype));
  return bytes;
}

/// Everyone's part of this rank's `counts[rank]` elements, side by side in the staging memory.
void prepareSum(Exchange &exchange, const void *in, const int64_t *counts, int64_t itemBytes) {
  contiguousParts(exchange.moves[0].send, in, counts, itemBytes);
  int64_t own = counts[exchange.rank] * itemBytes;
  exchange.staging.resize(own * exchange.ranks);
  for (int64_t peer = 0; peer < exchange.ranks; ++peer)
    if (peer != exchange.rank)
      exchange.moves[0].receive[peer] = {exchange.staging.data() + peer * own, nullptr, counts[exchange.rank],
                                         itemBytes};
}

void sumStaged(Exchange &exchange, char *out) {
  const Rows &own = exchange.moves[0].send[exchange.rank];
  std::vector<const char *> &parts = exchange.parts;
  parts.resize(exchange.ranks);
  for (int64_t peer = 0; peer < exchange.ranks; ++peer)
    parts[peer] = peer == exchange.rank ? own.base : exchange.staging.data() + peer * own.bytes();
  sumParts(exchange.dtype, parts.data(), exchange.ranks, own.count, out);
}

/// First every rank sums its block, then everyone gets all blocks.
void afterReduceMove(Exchange &exchange, int move) {
  if (move)
    return;
  contiguousParts(exchange.moves[1].receive, exchange.out, exchange.counts.data(),
                  exchange.moves[0].send[exchange.rank].rowBytes);
  Rows own = exchange.moves[1].receive[exchange.rank];
  sumStaged(exchange, own.base);
  for (int64_t peer = 0; peer < exchange.ranks; ++peer)
    exchange.moves[1].send[peer] = own;
}

void afterScatterMove(Exchange &exchange, int) { sumStaged(exchange, exchange.out); }

/// The first move brought everyone's sizes.
void afterGatherMove(Exchange &exchange, int move) {
  if (move)
    return;
  contiguousParts(exchange.moves[1].receive, exchange.out, exchange.counts.data(), 1);
  Rows own = {const_cast<char *>(exchange.in), nullptr, exchange.count, 1};
  for (int64_t peer = 0; peer < exchange.ranks; ++peer)
    exchange.moves[1].send[peer] = own;
  copyRows(own, exchange.moves[1].receive[exchange.rank]);
}

void gatherCounts(Exchange &exchange, int64_t count) {
  exchange.count = count;
  exchange.counts.assign(exchange.ranks, 0);
  exchange.counts[exchange.rank] = count;
  for (int64_t peer = 0; peer < exchange.ranks; ++peer) {
    exchange.moves[0].send[peer] = {reinterpret_cast<char *>(&exchange.count), nullptr, 1, sizeof(int64_t)};
    exchange.moves[0].receive[peer] = {reinterpret_cast<char *>(&exchange.counts[peer]), nullptr, 1, sizeof(int64_t)};
  }
}

} // namespace

extern "C" {

farskip_rt_plan *farskip_rt_plan_create(farskip_rt_context *handle, int64_t op, const int32_t *experts, int64_t tokens,
                                        int64_t slots, int64_t expertCount) {
  Context &context = of(handle);
  Communicator &communicator = *context.communicator;
  Plan &plan = communicator.openPlan();
  plan.slots = slots;
  plan.experts = expertCount;
  Exchange &exchange = communicator.open(Kind::Plan, op);
  exchange.inbox.resize(context.ranks);
  if (Status status = plan.assign(experts, tokens, context.ranks, exchange.outbox); !status.ok())
    context.fail(status.code, status.message);
  for (int64_t peer = 0; peer < context.ranks; ++peer) {
    std::vector<char> &message = exchange.outbox[peer];
    exchange.moves[0].send[peer] = {message.data(), nullptr, static_cast<int64_t>(message.size()), 1};
    exchange.moves[0].receive[peer].inbox = &exchange.inbox[peer];
  }
  exchange.inbox[context.rank] = exchange.outbox[context.rank];
  communicator.start(exchange);
  communicator.wait(exchange);
  if (!plan.collect(exchange.inbox, context.rank))
    context.fail(kInternal,
                 "the ranks disagree on the experts of " + Control::opText(context.description, Kind::Plan, op));
  communicator.release(exchange);
  return reinterpret_cast<farskip_rt_plan *>(&plan);
}

int64_t farskip_rt_plan_received(farskip_rt_context *, farskip_rt_plan *plan) { return of(plan).receivedFirst.back(); }

int64_t farskip_rt_plan_pairs(farskip_rt_context *, farskip_rt_plan *plan) { return of(plan).pairFirst.back(); }

void farskip_rt_plan_groups(farskip_rt_context *, farskip_rt_plan *plan, int64_t *offsets, int64_t *rows) {
  copyBytes(offsets, of(plan).groupOffsets.data(), of(plan).groupOffsets.size() * sizeof(int64_t));
  copyBytes(rows, of(plan).groupRows.data(), of(plan).groupRows.size() * sizeof(int64_t));
}

void farskip_rt_plan_destroy(farskip_rt_context *context, farskip_rt_plan *plan) {
  of(context).communicator->dropPlan(of(plan));
}

farskip_rt_request *farskip_rt_dispatch_start(farskip_rt_context *handle, int64_t op, farskip_rt_plan *planHandle,
                                              const void *rows, int64_t rowBytes, void *received) {
  Context &context = of(handle);
  Plan &plan = of(planHandle);
  Exchange &exchange = context.communicator->open(Kind::Dispatch, op);
  exchange.plan = &plan;
  char *from = const_cast<char *>(static_cast<const char *>(rows)), *to = static_cast<char *>(received);
  for (int64_t peer = 0; peer < context.ranks; ++peer) {
    int64_t sent = plan.sentFirst[peer], first = plan.receivedFirst[peer];
    exchange.moves[0].send[peer] = {from, plan.sentTokens.data() + sent, plan.sentFirst[peer + 1] - sent, rowBytes};
    exchange.moves[0].receive[peer] = {to + first * rowBytes, nullptr, plan.receivedFirst[peer + 1] - first, rowBytes};
  }
  return startWithOwnRows(context, exchange);
}

farskip_rt_request *farskip_rt_combine_start(farskip_rt_context *handle, int64_t op, farskip_rt_plan *planHandle,
                                             const void *grouped, int64_t rowBytes, void *slots) {
  Context &context = of(handle);
  Plan &plan = of(planHandle);
  Exchange &exchange = context.communicator->open(Kind::Combine, op);
  exchange.plan = &plan;
  char *from = const_cast<char *>(static_cast<const char *>(grouped)), *to = static_cast<char *>(slots);
  for (int64_t peer = 0; peer < context.ranks; ++peer) {
    int64_t pair = plan.pairFirst[peer], back = plan.returnFirst[peer];
    exchange.moves[0].send[peer] = {from, plan.pairPlace.data() + pair, plan.pairFirst[peer + 1] - pair, rowBytes};
    exchange.moves[0].receive[peer] = {to, plan.returnRows.data() + back, plan.returnFirst[peer + 1] - back, rowBytes};
  }
  for (int64_t slot : plan.unusedSlots)
    if (rowBytes)
      std::memset(to + slot * rowBytes, 0, rowBytes);
  return startWithOwnRows(context, exchange);
}

farskip_rt_request *farskip_rt_all_reduce_start(farskip_rt_context *handle, int64_t op, const void *in, void *out,
                                                int64_t count, int64_t dtype) {
  Context &context = of(handle);
  int64_t item = sumSize(context, Kind::AllReduce, dtype);
  Exchange &exchange = context.communicator->open(Kind::AllReduce, op);
  exchange.dtype = dtype;
  exchange.out = static_cast<char *>(out);
  exchange.counts.resize(context.ranks);
  for (int64_t rank = 0; rank < context.ranks; ++rank)
    exchange.counts[rank] = blockOf(count, rank, context.ranks).length;
  prepareSum(exchange, in, exchange.counts.data(), item);
  exchange.moveCount = 2;
  exchange.after = afterReduceMove;
  context.communicator->start(exchange);
  return ::handle(exchange);
}

farskip_rt_request *farskip_rt_reduce_scatter_start(farskip_rt_context *handle, int64_t op, const void *in, void *out,
                                                    const int64_t *counts, int64_t dtype) {
  Context &context = of(handle);
  int64_t item = sumSize(context, Kind::ReduceScatter, dtype);
  Exchange &exchange = context.communicator->open(Kind::ReduceScatter, op);
  exchange.dtype = dtype;
  exchange.out = static_cast<char *>(out);
  prepareSum(exchange, in, counts, item);
  exchange.after = afterScatterMove;
  context.communicator->start(exchange);
  return ::handle(exchange);
}

farskip_rt_request *farskip_rt_all_gather_start(farskip_rt_context *handle, int64_t op, const void *in, int64_t bytes,
                                                void *out) {
  Context &context = of(handle);
  Exchange &exchange = context.communicator->open(Kind::AllGather, op);
  exchange.in = static_cast<const char *>(in);
  exchange.out = static_cast<char *>(out);
  gatherCounts(exchange, bytes);
  exchange.moveCount = 2;
  exchange.after = afterGatherMove;
  context.communicator->start(exchange);
  return ::handle(exchange);
}

int64_t farskip_rt_all_gather_counts(farskip_rt_context *handle, int64_t op, int64_t count, int64_t *counts) {
  Communicator &communicator = *of(handle).communicator;
  Exchange &exchange = communicator.open(Kind::Counts, op);
  gatherCounts(exchange, count);
  communicator.start(exchange);
  communicator.wait(exchange);
  copyBytes(counts, exchange.counts.data(), exchange.counts.size() * sizeof(int64_t));
  int64_t sum = std::accumulate(exchange.counts.begin(), exchange.counts.end(), int64_t{0});
  communicator.release(exchange);
  return sum;
}

farskip_rt_request *farskip_rt_all_to_all_start(farskip_rt_context *handle, int64_t op, const void *send,
                                                const int64_t *sendRows, void *recv, const int64_t *recvRows,
                                                int64_t rowBytes) {
  Context &context = of(handle);
  Exchange &exchange = context.communicator->open(Kind::AllToAll, op);
  contiguousParts(exchange.moves[0].send, send, sendRows, rowBytes);
  contiguousParts(exchange.moves[0].receive, recv, recvRows, rowBytes);
  return startWithOwnRows(context, exchange);
}

void farskip_rt_barrier(farskip_rt_context *handle, int64_t op) {
  Communicator &communicator = *of(handle).communicator;
  Exchange &exchange = communicator.open(Kind::Barrier, op);
  communicator.start(exchange);
  communicator.wait(exchange);
  communicator.release(exchange);
}

void farskip_rt_request_wait(farskip_rt_context *handle, farskip_rt_request *request) {
  Communicator &communicator = *of(handle).communicator;
  communicator.wait(of(request));
  communicator.release(of(request));
}

} // extern "C"
