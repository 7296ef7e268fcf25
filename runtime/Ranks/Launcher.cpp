// Starts the ranks of a run and reports the first failure.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/Launcher.h"
#include "runtime/Ranks/Join.h"
#include "runtime/Ranks/Rank.h"
#include "runtime/Transport/Futex.h"
#include "runtime/Transport/Progress.h"
#include "runtime/Transport/ShmLinks.h"
#include "runtime/Transport/TcpLinks.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace farskip::runtime {

namespace {

/// What the other ranks get after the first failure, before they are killed.
constexpr int64_t kGraceNs = 2'000'000'000;

struct RankProcess {
  pid_t pid = -1;
  int results = -1; ///< memory file
  bool done = false;
  int stoppedBy = 0; ///< signal
};

/// For the signal handler of a rank.
Control *ownControl;
int64_t ownRank;
char interruptText[64];

void interruptRank(int) {
  ownControl->claim(ownRank, kInterrupted, interruptText);
  ::_exit(kInterrupted);
}

/// A peer that is gone is the launcher's business: it knows how it ended.
std::unique_ptr<Links> makeLinks(Context &context, const SharedMemory &memory, std::vector<Mesh> &meshes) {
  if (meshes.empty())
    return makeShmLinks(memory, context.rank);
  for (int64_t other = 0; other < context.ranks; ++other)
    if (other != context.rank)
      meshes[other].close();
  PeerEvents events = {nullptr, [](void *, int64_t, int, const char *) {}, [](void *, int64_t) {}};
  return makeTcpLinks(meshes[context.rank], memory.control(), context.rank, events);
}

[[noreturn]] void runRank(Context &context, const SharedMemory &memory, std::vector<Mesh> &meshes,
                          const std::string &names, const RunOptions &options, const RankBody &body, int resultsFile,
                          pid_t launcher, int64_t launchNs) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher)
    ::_exit(kPeerFailed);
  context.control = ownControl = &memory.control();
  ownRank = context.rank;
  std::snprintf(interruptText, sizeof interruptText, "rank %lld: interrupted", static_cast<long long>(ownRank));
  std::signal(SIGINT, interruptRank);
  std::signal(SIGTERM, interruptRank);
  setUp(context, options, context.ranks);
  context.communicator->connect(std::make_unique<Progress>(makeLinks(context, memory, meshes), *context.control,
                                                           context.rank, context.description, failRank, &context),
                                *context.control);
  shakeHands(context, names);
  context.startSeconds = static_cast<double>(nowNs() - launchNs) * 1e-9;
  body(context);
  RankResults results = takeResults(context);
  Status sent;
  if (!sendResults(resultsFile, results))
    sent = failure(kIo, std::string("no space for the outputs: ") + std::strerror(errno));
  context.agree(sent);
  context.control->states[context.rank].complete = 1;
  context.communicator->disconnect();
  context.pool.reset();
  ::_exit(kOk);
}

std::string exitText(int status) {
  if (WIFSIGNALED(status))
    return std::string("was killed by signal ") + std::to_string(WTERMSIG(status)) + " (" +
           ::strsignal(WTERMSIG(status)) + ")";
  return "ended early with exit code " + std::to_string(WEXITSTATUS(status));
}

void noteEnd(const Description &description, Control &control, int64_t rank, int status) {
  bool good = WIFEXITED(status) && WEXITSTATUS(status) == kOk && control.states[rank].complete;
  if (good || control.abort)
    return;
  std::string message =
      "rank " + std::to_string(rank) + " " + exitText(status) + "; " + control.lastText(&description, rank);
  control.claim(rank, kPeerFailed, message.c_str());
}

/// Waits for all ranks. After the first failure the others get two seconds, then are killed.
Status awaitRanks(const Description &description, std::vector<RankProcess> &processes, Control &control) {
  int64_t deadline = 0;
  size_t left = processes.size();
  while (left) {
    int status;
    pid_t pid = ::waitpid(-1, &status, WUNTRACED | WCONTINUED | (control.abort ? WNOHANG : 0));
    if (control.abort && !deadline)
      deadline = nowNs() + kGraceNs;
    if (pid <= 0) {
      if (pid < 0 && errno != EINTR)
        return failure(kInternal, std::string("waiting for the ranks failed: ") + std::strerror(errno));
      if (deadline && nowNs() > deadline)
        for (RankProcess &process : processes)
          if (!process.done)
            ::kill(process.pid, SIGKILL);
      ::usleep(2000);
      continue;
    }
    for (size_t rank = 0; rank < processes.size(); ++rank) {
      if (processes[rank].pid != pid)
        continue;
      if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
        processes[rank].stoppedBy = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        continue;
      }
      processes[rank].done = true;
      --left;
      noteEnd(description, control, rank, status);
    }
  }
  if (!control.abort)
    return {};
  int64_t first = control.abort - 1;
  return failure(control.states[first].report.code, control.states[first].report.message);
}

} // namespace

Status readTimeout(RunOptions &options) {
  const char *text = std::getenv("FARSKIP_TIMEOUT_S");
  if (!text)
    return {};
  std::string value = text;
  if (value.empty() || value.size() > 9 || value.find_first_not_of("0123456789") != std::string::npos)
    return failure(kUsage, "FARSKIP_TIMEOUT_S: '" + escaped(value) + "' is no number of seconds");
  options.timeout = std::stoll(value);
  return {};
}

Status launchRanks(const Description &description, const Weights &weights, const Prepared &prepared,
                   const RunOptions &options, const RankBody &body, std::vector<RankResults> &results) {
  if (options.world.present && description.ranks > 1)
    return joinRanks(description, weights, prepared, options, body, results);
  if (!prepared.status.ok())
    return prepared.status;
  int64_t launchNs = nowNs(), ranks = description.ranks;
  Context context;
  context.description = &description;
  context.weights = &weights;
  context.ranks = ranks;
  results.resize(ranks);
  if (ranks == 1) {
    setUp(context, options, 1);
    context.startSeconds = static_cast<double>(nowNs() - launchNs) * 1e-9;
    body(context);
    results[0] = takeResults(context);
    return {};
  }
  SharedMemory memory;
  if (Status status = memory.create(ranks); !status.ok())
    return status;
  std::vector<Mesh> meshes;
  if (options.transport == Transports::Tcp)
    if (Status status = meetLocally(ranks, meshes); !status.ok())
      return status;
  Control &control = memory.control();
  std::vector<RankProcess> processes(ranks);
  Status status;
  pid_t launcher = ::getpid();
  std::fflush(stdout);
  for (int64_t rank = 0; rank < ranks && status.ok(); ++rank) {
    RankProcess &process = processes[rank];
    process.results = ::memfd_create("farskip-results", MFD_CLOEXEC);
    process.pid = process.results < 0 ? -1 : ::fork();
    if (process.pid == 0) {
      context.rank = rank;
      runRank(context, memory, meshes, prepared.names, options, body, process.results, launcher, launchNs);
    }
    if (process.pid < 0) {
      status = failure(kIo, "cannot start rank " + std::to_string(rank) + ": " + std::strerror(errno));
      for (int64_t other = 0; other < rank; ++other)
        ::kill(processes[other].pid, SIGKILL);
      processes.resize(rank);
    }
  }
  for (Mesh &mesh : meshes)
    mesh.close();
  Status ended = awaitRanks(description, processes, control);
  if (status.ok())
    status = ended;
  for (size_t rank = 0; rank < processes.size() && status.ok(); ++rank)
    if (!receiveResults(processes[rank].results, description, results[rank]))
      status = failure(kInternal, "the results of rank " + std::to_string(rank) + " did not arrive");
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    ::close(processes[rank].results);
    if (!status.ok() && processes[rank].stoppedBy)
      status.message +=
          "; rank " + std::to_string(rank) + " was stopped by signal " + std::to_string(processes[rank].stoppedBy);
  }
  if (wantsRecords(status.code))
    control.dump(&description, launchNs);
  return status;
}

} // namespace farskip::runtime
