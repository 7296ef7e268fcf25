// TCP connections between all ranks of a run.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Transport/Sockets.h"
#include "runtime/Transport/Futex.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace farskip::runtime {

namespace {

constexpr char kMagic[8] = {'F', 'S', 'K', 'R', 'A', 'N', 'K', '1'};
constexpr int64_t kSoon = 2; ///< seconds
/// Large enough for most messages: the kernel then sends while the rank computes.
constexpr int kSendBuffer = 32 << 20;

/// What a rank says first on a connection.
struct Hello {
  char magic[8];
  int64_t rank, ranks;
  enum Purpose : int64_t { Register, Data, Notices } purpose;
  char buildId[64];
  sockaddr_storage listening; ///< where the rank takes connections, with Register
};

/// What rank 0 answers to Register; then come the addresses of all ranks.
struct Answer {
  char magic[8];
  int64_t code;
  char message[512];
};

class Deadline {
public:
  explicit Deadline(int64_t seconds) : endNs(seconds ? nowNs() + seconds * 1'000'000'000 : INT64_MAX) {}
  bool passed() const { return nowNs() >= endNs; }
  int pollMs() const { return static_cast<int>(std::clamp<int64_t>((endNs - nowNs()) / 1'000'000, 0, 1000)); }

private:
  int64_t endNs;
};

Status systemError(const std::string &what) { return failure(kIo, what + ": " + std::strerror(errno)); }

/// False at the deadline, and when the other side closes.
bool transfer(int fd, void *data, size_t bytes, bool sending, const Deadline &deadline) {
  char *at = static_cast<char *>(data);
  while (bytes) {
    ssize_t moved = sending ? ::send(fd, at, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) : ::recv(fd, at, bytes, MSG_DONTWAIT);
    if (moved > 0) {
      at += moved;
      bytes -= moved;
      continue;
    }
    if (moved == 0 || (errno != EAGAIN && errno != EINTR) || deadline.passed())
      return false;
    pollfd entry = {fd, static_cast<short>(sending ? POLLOUT : POLLIN), 0};
    ::poll(&entry, 1, deadline.pollMs());
  }
  return true;
}

socklen_t lengthOf(const sockaddr_storage &address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

void setPort(sockaddr_storage &address, int port) {
  if (address.ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6 &>(address).sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in &>(address).sin_port = htons(port);
}

/// Takes connections on every address of the family.
Status listenOn(int family, int port, int &fd, sockaddr_storage &address) {
  address = {};
  address.ss_family = family;
  setPort(address, port);
  fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int yes = 1;
  socklen_t length = sizeof address;
  if (fd < 0 || ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
      ::bind(fd, reinterpret_cast<sockaddr *>(&address), lengthOf(address)) || ::listen(fd, 1024) ||
      ::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &length))
    return systemError("cannot listen on port " + std::to_string(port));
  return {};
}

void prepareForData(int fd) {
  int yes = 1, size = kSendBuffer;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  // Only root may pass the system's limit; others get what it allows.
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size))
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

/// Tries again until the deadline: the other side may not listen yet.
int connectTo(const sockaddr_storage &address, const Deadline &deadline) {
  while (true) {
    int fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
      return -1;
    prepareForData(fd);
    int error = ::connect(fd, reinterpret_cast<const sockaddr *>(&address), lengthOf(address)) ? errno : 0;
    while (error == EINPROGRESS && !deadline.passed()) {
      pollfd entry = {fd, POLLOUT, 0};
      if (::poll(&entry, 1, deadline.pollMs()) > 0) {
        socklen_t length = sizeof error;
        ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
      }
    }
    if (!error)
      return fd;
    ::close(fd);
    errno = error;
    if (deadline.passed())
      return -1;
    ::usleep(50000);
  }
}

Status resolve(const Meeting &meeting, sockaddr_storage &address) {
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int error = ::getaddrinfo(meeting.host.c_str(), std::to_string(meeting.port).c_str(), &hints, &list);
  if (error)
    return failure(kIo, "cannot resolve '" + escaped(meeting.host) + "': " + ::gai_strerror(error));
  address = {};
  std::memcpy(&address, list->ai_addr, list->ai_addrlen);
  ::freeaddrinfo(list);
  return {};
}

class Assembly {
public:
  Assembly(const Meeting &meeting, Mesh &mesh) : meeting(meeting), mesh(mesh), deadline(meeting.timeout) {}
  ~Assembly() {
    for (int fd : {rootListener, listener})
      if (fd >= 0)
        ::close(fd);
    for (int fd : registered)
      if (fd >= 0)
        ::close(fd);
  }

  Status run() {
    mesh.data.assign(meeting.ranks, -1);
    mesh.notices.assign(meeting.ranks, -1);
    addresses.resize(meeting.ranks);
    registered.assign(meeting.ranks, -1);
    sockaddr_storage root;
    if (Status status = resolve(meeting, root); !status.ok())
      return status;
    if (Status status = listenOn(root.ss_family, 0, listener, own); !status.ok())
      return status;
    Status status = meeting.rank == 0 ? registerAll(root.ss_family) : registerAt(root);
    return status.ok() ? connectAll() : status;
  }

private:
  Hello hello(Hello::Purpose purpose) const {
    Hello result = {};
    std::memcpy(result.magic, kMagic, sizeof kMagic);
    result.rank = meeting.rank;
    result.ranks = meeting.ranks;
    result.purpose = purpose;
    std::strncpy(result.buildId, meeting.buildId.c_str(), sizeof result.buildId - 1);
    result.listening = own;
    return result;
  }

  Status late(const std::string &what) const {
    return failure(kDeadline, "rank " + std::to_string(meeting.rank) + ": waited " + std::to_string(meeting.timeout) +
                                  " s for " + what + "; FARSKIP_TIMEOUT_S sets the limit");
  }

  std::string missing() const {
    std::string text;
    for (int64_t rank = 1; rank < meeting.ranks; ++rank)
      if (registered[rank] < 0)
        text += (text.empty() ? "rank " : ", ") + std::to_string(rank);
    return text;
  }

  /// The next connection that begins with a hello; what is none is closed. -1 at the deadline.
  int acceptHello(int from, Hello &hello, const Deadline &until) {
    while (!until.passed()) {
      int fd = ::accept4(from, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        pollfd entry = {from, POLLIN, 0};
        ::poll(&entry, 1, until.pollMs());
        continue;
      }
      // A stranger does not hold the ranks up.
      if (transfer(fd, &hello, sizeof hello, false, Deadline(kSoon)) &&
          !std::memcmp(hello.magic, kMagic, sizeof kMagic)) {
        prepareForData(fd);
        return fd;
      }
      ::close(fd);
    }
    return -1;
  }

  Status check(const Hello &hello) const {
    std::string who = "rank " + std::to_string(hello.rank);
    if (hello.ranks != meeting.ranks)
      return failure(kInputError, "the ranks disagree on the world size: rank 0 has " + std::to_string(meeting.ranks) +
                                      ", " + who + " has " + std::to_string(hello.ranks));
    if (hello.rank < 1 || hello.rank >= meeting.ranks || registered[hello.rank] >= 0)
      return failure(kInputError, "two processes are " + who);
    if (std::strncmp(hello.buildId, meeting.buildId.c_str(), sizeof hello.buildId - 1))
      return failure(kInputError, "the ranks disagree on the build id: rank 0 has " + meeting.buildId + ", " + who +
                                      " has " + escaped(std::string(hello.buildId, ::strnlen(hello.buildId, 64))));
    return {};
  }

  Status registerAll(int family) {
    sockaddr_storage ignored;
    if (Status status = listenOn(family, meeting.port, rootListener, ignored); !status.ok())
      return status;
    Status status;
    std::vector<int> refused;
    // After an error the rest is heard too, if it comes soon: everyone is told.
    for (int64_t open = meeting.ranks - 1; open > 0; --open) {
      Hello other;
      int fd = acceptHello(rootListener, other, status.ok() ? deadline : Deadline(kSoon));
      if (fd < 0) {
        if (status.ok())
          status = late(missing() + " to come to port " + std::to_string(meeting.port));
        break;
      }
      Status checked = check(other);
      if (checked.ok()) {
        registered[other.rank] = fd;
        addresses[other.rank] = other.listening;
        continue;
      }
      refused.push_back(fd);
      if (status.ok())
        status = checked;
    }
    Answer answer = {};
    std::memcpy(answer.magic, kMagic, sizeof kMagic);
    answer.code = status.code;
    std::strncpy(answer.message, status.message.c_str(), sizeof answer.message - 1);
    std::vector<int> all = registered;
    all.insert(all.end(), refused.begin(), refused.end());
    for (int fd : all)
      if (fd >= 0 && transfer(fd, &answer, sizeof answer, true, deadline) && status.ok())
        transfer(fd, addresses.data(), addresses.size() * sizeof addresses[0], true, deadline);
    for (int fd : refused)
      ::close(fd);
    return status;
  }

  Status registerAt(const sockaddr_storage &root) {
    std::string where = "rank 0 at " + escaped(meeting.host) + ", port " + std::to_string(meeting.port);
    int fd = connectTo(root, deadline);
    if (fd < 0)
      return deadline.passed() ? late(where) : systemError(where);
    registered[0] = fd;
    // The others reach this rank where it reaches rank 0 from.
    int port = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(own).sin6_port
                                               : reinterpret_cast<sockaddr_in &>(own).sin_port);
    socklen_t length = sizeof own;
    ::getsockname(fd, reinterpret_cast<sockaddr *>(&own), &length);
    setPort(own, port);
    Hello first = hello(Hello::Register);
    Answer answer;
    if (!transfer(fd, &first, sizeof first, true, deadline) || !transfer(fd, &answer, sizeof answer, false, deadline))
      return deadline.passed() ? late(where) : failure(kPeerFailed, where + " closed the connection");
    if (answer.code) {
      answer.message[sizeof answer.message - 1] = '\0';
      return failure(static_cast<int>(answer.code), answer.message);
    }
    if (!transfer(fd, addresses.data(), addresses.size() * sizeof addresses[0], false, deadline))
      return failure(kPeerFailed, where + " closed the connection");
    return {};
  }

  /// The connection on which a rank registered carries its data to rank 0; all others are made here, by the higher
  /// rank.
  Status connectAll() {
    for (int64_t rank = 0; rank < meeting.ranks; ++rank)
      std::swap(mesh.data[rank], registered[rank]);
    for (int64_t lower = 0; lower < meeting.rank; ++lower)
      for (Hello::Purpose purpose : {Hello::Data, Hello::Notices}) {
        if (lower == 0 && purpose == Hello::Data)
          continue;
        int fd = lower ? connectTo(addresses[lower], deadline) : connectToRoot();
        Hello first = hello(purpose);
        if (fd < 0 || !transfer(fd, &first, sizeof first, true, deadline))
          return deadline.passed() ? late("rank " + std::to_string(lower))
                                   : systemError("cannot reach rank " + std::to_string(lower));
        (purpose == Hello::Data ? mesh.data : mesh.notices)[lower] = fd;
      }
    int64_t open = (meeting.ranks - 1 - meeting.rank) * (meeting.rank ? 2 : 1);
    for (; open > 0; --open) {
      Hello other;
      int fd = acceptHello(meeting.rank ? listener : rootListener, other, deadline);
      if (fd < 0)
        return late("the other ranks to connect");
      std::vector<int> &list = other.purpose == Hello::Data ? mesh.data : mesh.notices;
      if (other.rank <= meeting.rank || other.rank >= meeting.ranks || list[other.rank] >= 0)
        return failure(kInputError, "two processes are rank " + std::to_string(other.rank));
      list[other.rank] = fd;
    }
    return {};
  }

  int connectToRoot() {
    sockaddr_storage root;
    return resolve(meeting, root).ok() ? connectTo(root, deadline) : -1;
  }

  const Meeting &meeting;
  Mesh &mesh;
  Deadline deadline;
  int rootListener = -1, listener = -1;
  sockaddr_storage own = {};
  std::vector<sockaddr_storage> addresses;
  std::vector<int> registered;
};

} // namespace

void Mesh::close() {
  for (std::vector<int> *list : {&data, &notices})
    for (int &fd : *list)
      if (fd >= 0) {
        ::close(fd);
        fd = -1;
      }
}

Status meet(const Meeting &meeting, Mesh &mesh) {
  Status status = Assembly(meeting, mesh).run();
  if (!status.ok())
    mesh.close();
  return status;
}

Status meetLocally(int64_t ranks, std::vector<Mesh> &meshes) {
  meshes.resize(ranks);
  for (Mesh &mesh : meshes) {
    mesh.data.assign(ranks, -1);
    mesh.notices.assign(ranks, -1);
  }
  int listener = -1;
  sockaddr_storage address;
  Status status = listenOn(AF_INET, 0, listener, address);
  reinterpret_cast<sockaddr_in &>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Deadline deadline(10);
  for (int64_t high = 1; high < ranks && status.ok(); ++high)
    for (int64_t low = 0; low < high && status.ok(); ++low)
      for (std::vector<int> Mesh::*list : {&Mesh::data, &Mesh::notices}) {
        int one = connectTo(address, deadline), other = -1;
        while (one >= 0 && (other = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) < 0 &&
               (errno == EAGAIN || errno == EINTR) && !deadline.passed())
          ::usleep(100);
        (meshes[high].*list)[low] = one;
        (meshes[low].*list)[high] = other;
        if (one < 0 || other < 0)
          status = systemError("cannot connect ranks over the loopback device");
        else
          prepareForData(other);
      }
  if (listener >= 0)
    ::close(listener);
  if (!status.ok())
    for (Mesh &mesh : meshes)
      mesh.close();
  return status;
}

} // namespace farskip::runtime
