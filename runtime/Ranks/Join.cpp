// Being one rank of a world that something else started.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/Join.h"
#include "runtime/Ranks/Rank.h"
#include "runtime/Transport/Futex.h"
#include "runtime/Transport/Progress.h"
#include "runtime/Transport/TcpLinks.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace farskip::runtime {

namespace {

/// How long a rank leaves it to the lowest one to say what happened.
constexpr int kSpeakerMs = 2000;
constexpr int kClockRounds = 8;

/// For the signal handler.
const Mesh *ownMesh;
char interruptText[64];

void interruptMember(int) {
  sendNotices(*ownMesh, kInterrupted, interruptText);
  ::_exit(kInterrupted);
}

/// The rank that fails says so itself. The others pass it on, so that none of them seems to be gone without a word.
void peerFailed(void *, int64_t, int code, const char *message) {
  sendNotices(*ownMesh, code, message);
  ::_exit(code);
}

void peerLost(void *handle, int64_t peer) {
  Context &context = *static_cast<Context *>(handle);
  int64_t speaker = peer == 0 ? 1 : 0;
  int code;
  std::string message;
  if (context.rank != speaker && receiveNotice(context.world->notices[speaker], kSpeakerMs, code, message) && code)
    peerFailed(handle, speaker, code, message.c_str());
  context.failAs(kPeerFailed, "rank " + std::to_string(peer) + " is gone without a word; " +
                                  context.control->lastText(context.description, peer));
}

/// What tells the machines of all ranks apart.
std::vector<std::string> machinesOf(Context &context) {
  std::string own;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), own);
  return context.communicator->gather(Kind::Clock, own);
}

/// The ranks that have to share the cores of this process: those of its machine, unless it is bound to some of them.
int64_t sharers(const Context &context, const std::vector<std::string> &machines) {
  if (static_cast<long>(std::thread::hardware_concurrency()) < ::sysconf(_SC_NPROCESSORS_ONLN))
    return 1;
  return std::count(machines.begin(), machines.end(), machines[context.rank]);
}

/// Nanoseconds that this machine's clock is ahead of rank 0's. What one rank saw begin before another saw it end bounds
/// the difference on both sides; each round narrows it.
int64_t clockOffset(Context &context) {
  int64_t least = INT64_MIN / 2, most = INT64_MAX / 2;
  for (int round = 0; round < kClockRounds; ++round) {
    int64_t span[2] = {nowNs(), 0};
    context.communicator->gather(Kind::Clock, "");
    span[1] = nowNs();
    std::string text(reinterpret_cast<char *>(span), sizeof span);
    int64_t first[2];
    std::memcpy(first, context.communicator->gather(Kind::Clock, text)[0].data(), sizeof first);
    least = std::max(least, span[0] - first[1]);
    most = std::min(most, span[1] - first[0]);
  }
  return least + (most - least) / 2;
}

/// Everyone's results on rank 0.
Status collect(Context &context, const RankResults &own, std::vector<RankResults> &results) {
  int file = ::memfd_create("farskip-results", MFD_CLOEXEC);
  std::string text;
  bool good = file >= 0 && sendResults(file, own);
  if (good) {
    text.resize(::lseek(file, 0, SEEK_END));
    good = ::pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  }
  Status status = good ? Status{} : failure(kIo, std::string("no space for the outputs: ") + std::strerror(errno));
  context.agree(status);
  std::vector<std::string> all = context.communicator->gatherAtFirst(Kind::Results, text);
  results.resize(all.size());
  for (size_t rank = 0; rank < all.size() && status.ok(); ++rank)
    if (::ftruncate(file, 0) ||
        ::pwrite(file, all[rank].data(), all[rank].size(), 0) != static_cast<ssize_t>(all[rank].size()) ||
        !receiveResults(file, *context.description, results[rank]))
      status = failure(kIo, std::string("no space for the outputs: ") + std::strerror(errno));
  ::close(file);
  return status;
}

} // namespace

Status joinRanks(const Description &description, const Weights &weights, const Prepared &prepared,
                 const RunOptions &options, const RankBody &body, std::vector<RankResults> &results) {
  const World &world = options.world;
  if (world.ranks != description.ranks)
    return failure(kUsage, "this program has " + std::to_string(description.ranks) + " ranks, the world has " +
                               std::to_string(world.ranks));
  int64_t launchNs = nowNs();
  // Lives until the end of the process: the other ranks see its end by it.
  static Mesh mesh;
  Meeting meeting = {world.rank, world.ranks, world.host, world.port, description.buildId, startTimeout(options)};
  if (Status status = meet(meeting, mesh); !status.ok())
    return status;
  std::vector<char> memory(Control::bytes(world.ranks) + alignof(Control), 0);
  size_t misalignment = reinterpret_cast<uintptr_t>(memory.data()) % alignof(Control);
  auto &control = *reinterpret_cast<Control *>(memory.data() + (misalignment ? alignof(Control) - misalignment : 0));
  control.ranks = world.ranks;
  Context context;
  context.description = &description;
  context.weights = &weights;
  context.rank = world.rank;
  context.ranks = world.ranks;
  context.control = &control;
  context.world = ownMesh = &mesh;
  context.launchNs = launchNs;
  std::snprintf(interruptText, sizeof interruptText, "rank %lld: interrupted", static_cast<long long>(world.rank));
  std::signal(SIGINT, interruptMember);
  std::signal(SIGTERM, interruptMember);
  context.communicator->setDeadline(startTimeout(options));
  auto links = makeTcpLinks(mesh, control, world.rank, {&context, peerFailed, peerLost});
  context.communicator->connect(
      std::make_unique<Progress>(std::move(links), control, world.rank, &description, failRank, &context), control);
  context.agree(prepared.status);
  shakeHands(context, prepared.names);
  std::vector<std::string> machines = machinesOf(context);
  setUp(context, options, sharers(context, machines));
  bool sameClock = std::count(machines.begin(), machines.end(), machines[0]) == world.ranks;
  int64_t offset = options.trace && !sameClock ? clockOffset(context) : 0;
  context.startSeconds = static_cast<double>(nowNs() - launchNs) * 1e-9;
  body(context);
  RankResults own = takeResults(context);
  for (TraceEvent &event : own.trace) {
    event.startNs -= offset;
    event.endNs -= offset;
  }
  context.agree(collect(context, own, results));
  sendNotices(mesh, kOk, "");
  context.communicator->disconnect();
  return {};
}

} // namespace farskip::runtime
