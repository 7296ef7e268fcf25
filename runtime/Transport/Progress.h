// A transport over byte streams, moved by a thread of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Transport/Control.h"
#include "runtime/Transport/Links.h"
#include <memory>
#include <mutex>
#include <thread>

namespace farskip::runtime {

/// Every move begins with a header in each direction, so that an empty one is a message too, and ranks that are not in
/// the same exchange notice. The thread starts with the first exchange and sleeps while there is none.
class Progress final : public Transport {
public:
  /// `failed` ends the process; it is called when a peer is in another exchange.
  using Failed = void (*)(void *context, int code, const std::string &message);

  Progress(std::unique_ptr<Links> links, Control &control, int64_t rank, const Description *description, Failed failed,
           void *context);
  ~Progress() override;
  void start(Exchange &exchange) override;

private:
  struct Header {
    uint64_t sequence;
    int64_t op;
    uint32_t kind, move;
    uint64_t bytes;
  };
  /// How far one direction with one peer has come.
  struct Flow {
    Header header;
    size_t headerDone;
    Rows rows;
    int64_t row, offset;
    bool finished;
  };

  void work();
  Exchange *takeNext();
  void perform(Exchange &exchange);
  void move(Exchange &exchange, int number);
  bool step(const Exchange &exchange, int64_t peer, Flow &flow, bool sending);
  int parts(Flow &flow, bool sending, iovec *parts, int limit);
  static void advance(Flow &flow, size_t bytes);
  void checkHeader(const Exchange &exchange, int64_t peer, Flow &flow);

  std::unique_ptr<Links> links;
  Control &control;
  int64_t rank, ranks;
  const Description *description;
  Failed failed;
  void *context;
  std::vector<Flow> sends, receives;
  std::unique_ptr<bool[]> writing, reading;
  std::mutex mutex; ///< of the queue
  Exchange *first = nullptr, *last = nullptr;
  std::atomic<bool> stopping{false};
  std::thread thread;
};

} // namespace farskip::runtime
