// Byte streams over TCP.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Transport/Control.h"
#include "runtime/Transport/Links.h"
#include "runtime/Transport/Sockets.h"
#include <memory>

namespace farskip::runtime {

/// What the connections tell of the other ranks; called by the progress thread.
struct PeerEvents {
  void *context;
  /// The peer said that the run fails, and why.
  void (*failed)(void *context, int64_t peer, int code, const char *message);
  /// The peer is gone and did not say why.
  void (*lost)(void *context, int64_t peer);
};

/// The links do not own the connections: those end with the process, so that the others notice its end.
std::unique_ptr<Links> makeTcpLinks(const Mesh &mesh, Control &control, int64_t rank, PeerEvents events);

/// Tells every other rank that this one ends: code 0 when all is done, else why the run fails. Async-signal-safe.
void sendNotices(const Mesh &mesh, int code, const char *message);
/// The next notice on a connection within `ms`; false when there is none.
bool receiveNotice(int fd, int ms, int &code, std::string &message);

} // namespace farskip::runtime
