// Byte streams over TCP.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Transport/TcpLinks.h"
#include "runtime/Transport/Futex.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace farskip::runtime {

namespace {

/// The last word of a rank.
struct Notice {
  int32_t code;
  char message[1020];
};

/// How often the abort word of a launcher is looked at.
constexpr int kLookMs = 100;

class TcpLinks final : public Links {
public:
  TcpLinks(const Mesh &mesh, Control &control, int64_t rank, PeerEvents events)
      : mesh(mesh), control(control), rank(rank), events(events), wakeFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        ended(control.ranks, 0), closed(control.ranks, 0), polls(1 + 2 * control.ranks) {}
  ~TcpLinks() override { ::close(wakeFd); }

  size_t write(int64_t peer, const iovec *parts, int count) override {
    msghdr message = {};
    message.msg_iov = const_cast<iovec *>(parts);
    message.msg_iovlen = count;
    return result(peer, ::sendmsg(mesh.data[peer], &message, MSG_DONTWAIT | MSG_NOSIGNAL));
  }

  size_t read(int64_t peer, const iovec *parts, int count) override {
    msghdr message = {};
    message.msg_iov = const_cast<iovec *>(parts);
    message.msg_iovlen = count;
    ssize_t moved = ::recvmsg(mesh.data[peer], &message, MSG_DONTWAIT);
    if (moved == 0)
      closed[peer] = 1;
    return result(peer, moved);
  }

  uint32_t ticket() override {
    if (control.abort)
      ::_exit(kPeerFailed);
    return 0;
  }

  void sleep(uint32_t, const bool *writes, const bool *reads) override {
    polls[0] = {wakeFd, POLLIN, 0};
    for (int64_t peer = 0; peer < control.ranks; ++peer) {
      bool waits = (writes[peer] || reads[peer]) && peer != rank;
      if (waits && closed[peer] && ended[peer])
        events.lost(events.context, peer);
      short interest = static_cast<short>((writes[peer] ? POLLOUT : 0) | (reads[peer] ? POLLIN : 0));
      polls[1 + peer] = {waits && !closed[peer] ? mesh.data[peer] : -1, interest, 0};
      polls[1 + control.ranks + peer] = {ended[peer] ? -1 : mesh.notices[peer], POLLIN, 0};
    }
    if (::poll(polls.data(), polls.size(), kLookMs) <= 0)
      return;
    uint64_t count;
    while (::read(wakeFd, &count, sizeof count) > 0)
      ;
    for (int64_t peer = 0; peer < control.ranks; ++peer)
      if (polls[1 + control.ranks + peer].revents)
        hear(peer);
  }

  void wake() override {
    uint64_t one = 1;
    while (::write(wakeFd, &one, sizeof one) < 0 && errno == EINTR)
      ;
  }

private:
  /// Of a connection that is broken the other one will tell.
  size_t result(int64_t peer, ssize_t moved) {
    if (moved < 0 && errno != EAGAIN && errno != EINTR)
      closed[peer] = 1;
    return std::max<ssize_t>(moved, 0);
  }

  void hear(int64_t peer) {
    int code;
    std::string message;
    ended[peer] = 1;
    if (!receiveNotice(mesh.notices[peer], 1000, code, message))
      events.lost(events.context, peer);
    else if (code)
      events.failed(events.context, peer, code, message.c_str());
  }

  const Mesh &mesh;
  Control &control;
  int64_t rank;
  PeerEvents events;
  int wakeFd;
  std::vector<char> ended, closed;
  std::vector<pollfd> polls;
};

} // namespace

std::unique_ptr<Links> makeTcpLinks(const Mesh &mesh, Control &control, int64_t rank, PeerEvents events) {
  return std::make_unique<TcpLinks>(mesh, control, rank, events);
}

void sendNotices(const Mesh &mesh, int code, const char *message) {
  Notice notice = {};
  notice.code = code;
  std::memcpy(notice.message, message, std::min(std::strlen(message), sizeof notice.message - 1));
  for (int fd : mesh.notices)
    if (fd >= 0)
      ::send(fd, &notice, sizeof notice, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool receiveNotice(int fd, int ms, int &code, std::string &message) {
  Notice notice;
  size_t done = 0;
  while (done < sizeof notice) {
    ssize_t moved = ::recv(fd, reinterpret_cast<char *>(&notice) + done, sizeof notice - done, MSG_DONTWAIT);
    if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    if (moved > 0) {
      done += moved;
      continue;
    }
    pollfd entry = {fd, POLLIN, 0};
    if (::poll(&entry, 1, ms) == 0)
      return false;
  }
  code = notice.code;
  message.assign(notice.message, ::strnlen(notice.message, sizeof notice.message));
  return true;
}

} // namespace farskip::runtime
