// Runs the program on its ranks and brings their outputs together.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/Launcher.h"
#include "farskip/rt.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace farskip::runtime {

namespace {

using Clock = std::chrono::steady_clock;

int64_t threadCount(const RunOptions &options, int64_t ranks) {
  int64_t cores = std::thread::hardware_concurrency();
  return options.threads ? options.threads : std::max<int64_t>(1, cores / ranks);
}

/// Copies `block` of the axis; `outer` and `inner` are the products of the
/// extents before and behind it.
void copyBlock(const char *whole, char *part, int64_t outer, int64_t extent, Block block, int64_t innerBytes,
               bool toWhole) {
  for (int64_t i = 0; i < outer; ++i) {
    char *inWhole = const_cast<char *>(whole) + (i * extent + block.first) * innerBytes;
    char *inPart = part + i * block.length * innerBytes;
    std::memcpy(toWhole ? inWhole : inPart, toWhole ? inPart : inWhole, block.length * innerBytes);
  }
}

struct AxisView {
  int64_t outer = 1, innerBytes;
  AxisView(const std::vector<int64_t> &shape, int64_t axis, int64_t itemBytes) : innerBytes(itemBytes) {
    for (int64_t i = 0; i < axis; ++i)
      outer *= shape[i];
    for (size_t i = axis + 1; i < shape.size(); ++i)
      innerBytes *= shape[i];
  }
};

void sliceInputs(Context &context) {
  const Description &description = *context.description;
  context.slices.resize(description.inputs.size());
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    const Port &port = description.inputs[i];
    const Buffer &whole = (*context.inputs)[i];
    if (port.shardAxis < 0)
      continue;
    std::vector<int64_t> shape = whole.shape;
    Block block = blockOf(shape[port.shardAxis], context.rank, context.ranks);
    shape[port.shardAxis] = block.length;
    if (!context.slices[i].allocate(shape, port.type.bytes))
      context.fail(kIo, "no memory for input '" + escaped(port.name) + "'");
    AxisView view(whole.shape, port.shardAxis, port.type.bytes);
    copyBlock(whole.data(), context.slices[i].data(), view.outer, whole.shape[port.shardAxis], block, view.innerBytes,
              false);
  }
}

void runHere(Context &context, const RunOptions &options, RunTimes &times) {
  context.pool = std::make_unique<Pool>(threadCount(options, context.ranks));
  context.outputs.resize(context.description->outputs.size());
  for (int64_t i = 0; i < options.repeat; ++i) {
    auto start = Clock::now();
    farskip_model_run(reinterpret_cast<farskip_rt_context *>(&context));
    times.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
}

/// What a rank leaves for the launcher: its report, and a memory file with its
/// outputs.
struct RankProcess {
  pid_t pid = -1;
  int outputs = -1;
  bool done = false;
  int code = 0;
};

bool writeAll(int fd, const void *data, size_t bytes) {
  const char *from = static_cast<const char *>(data);
  while (bytes) {
    ssize_t count = ::write(fd, from, std::min<size_t>(bytes, 1 << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    from += count;
    bytes -= count;
  }
  return true;
}

bool readAll(int fd, void *data, size_t bytes) {
  char *to = static_cast<char *>(data);
  while (bytes) {
    ssize_t count = ::read(fd, to, std::min<size_t>(bytes, 1 << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    to += count;
    bytes -= count;
  }
  return true;
}

/// Outputs as they pass between processes: for each its extents, then its
/// bytes; last the times of the runs.
bool sendOutputs(int fd, const Context &context, const RunTimes &times) {
  for (const Buffer &output : context.outputs)
    if (!writeAll(fd, output.shape.data(), output.shape.size() * sizeof(int64_t)) ||
        !writeAll(fd, output.data(), output.bytes))
      return false;
  return writeAll(fd, times.seconds.data(), times.seconds.size() * sizeof(double));
}

bool receiveOutputs(int fd, const Description &description, std::vector<Buffer> &outputs, RunTimes &times) {
  ::lseek(fd, 0, SEEK_SET);
  for (size_t i = 0; i < description.outputs.size(); ++i) {
    const Port &port = description.outputs[i];
    std::vector<int64_t> shape(port.dims.size());
    if (!readAll(fd, shape.data(), shape.size() * sizeof(int64_t)) || !outputs[i].allocate(shape, port.type.bytes) ||
        !readAll(fd, outputs[i].data(), outputs[i].bytes))
      return false;
  }
  return readAll(fd, times.seconds.data(), times.seconds.size() * sizeof(double));
}

std::string exitText(int status) {
  if (WIFSIGNALED(status))
    return std::string("was killed by signal ") + std::to_string(WTERMSIG(status)) + " (" +
           ::strsignal(WTERMSIG(status)) + ")";
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

/// Waits for all ranks. After the first failure the others get two seconds,
/// then are killed.
Status awaitRanks(std::vector<RankProcess> &processes, const Report *reports) {
  Status first;
  Clock::time_point deadline = Clock::time_point::max();
  size_t left = processes.size();
  while (left) {
    int status;
    pid_t pid = ::waitpid(-1, &status, deadline == Clock::time_point::max() ? 0 : WNOHANG);
    if (pid <= 0) {
      if (pid < 0 && errno != EINTR)
        return failure(kInternal, std::string("waiting for the ranks failed: ") + std::strerror(errno));
      if (Clock::now() > deadline)
        for (RankProcess &process : processes)
          if (!process.done)
            ::kill(process.pid, SIGKILL);
      ::usleep(2000);
      continue;
    }
    for (size_t rank = 0; rank < processes.size(); ++rank) {
      if (processes[rank].pid != pid)
        continue;
      processes[rank].done = true;
      --left;
      bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (good || !first.ok())
        continue;
      const Report &report = reports[rank];
      if (report.code)
        first = failure(report.code, processes.size() > 1 && report.code != kInputError
                                         ? "rank " + std::to_string(rank) + ": " + report.message
                                         : report.message);
      else
        first = failure(kPeerFailed, "rank " + std::to_string(rank) + " " + exitText(status));
      deadline = Clock::now() + std::chrono::seconds(2);
    }
  }
  return first;
}

Status gather(const Description &description, std::vector<RankProcess> &processes, const RunOptions &options,
              std::vector<Buffer> &outputs, RunTimes &times) {
  std::vector<std::vector<Buffer>> parts(processes.size());
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    parts[rank].resize(description.outputs.size());
    RunTimes own;
    own.seconds.resize(options.repeat);
    if (!receiveOutputs(processes[rank].outputs, description, parts[rank], own))
      return failure(kInternal, "the outputs of rank " + std::to_string(rank) + " did not arrive");
    if (rank == 0)
      times = std::move(own);
  }
  outputs.resize(description.outputs.size());
  for (size_t i = 0; i < description.outputs.size(); ++i) {
    const Port &port = description.outputs[i];
    if (port.shardAxis < 0) {
      outputs[i] = std::move(parts[0][i]);
      continue;
    }
    std::vector<int64_t> shape = parts[0][i].shape;
    for (size_t rank = 1; rank < parts.size(); ++rank) {
      std::vector<int64_t> other = parts[rank][i].shape;
      shape[port.shardAxis] += other[port.shardAxis];
      other[port.shardAxis] = shape[port.shardAxis];
      if (other != shape)
        return failure(kInternal, "the ranks disagree on the shape of output '" + escaped(port.name) + "'");
    }
    if (!outputs[i].allocate(shape, port.type.bytes))
      return failure(kIo, "no memory for output '" + escaped(port.name) + "'");
    AxisView view(shape, port.shardAxis, port.type.bytes);
    int64_t first = 0;
    for (auto &part : parts) {
      int64_t length = part[i].shape[port.shardAxis];
      copyBlock(outputs[i].data(), part[i].data(), view.outer, shape[port.shardAxis], {first, length}, view.innerBytes,
                true);
      first += length;
    }
  }
  return {};
}

[[noreturn]] void runRank(Context &context, const RunOptions &options, int outputs, pid_t launcher) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher)
    ::_exit(kPeerFailed);
  std::signal(SIGINT, SIG_IGN); // the launcher decides
  RunTimes times;
  sliceInputs(context);
  runHere(context, options, times);
  context.pool.reset();
  if (!sendOutputs(outputs, context, times))
    context.fail(kIo, std::string("no space for the outputs: ") + std::strerror(errno));
  ::_exit(kOk);
}

} // namespace

Status runProgram(const Description &description, const Weights &weights, const std::vector<Buffer> &inputs,
                  const RunOptions &options, std::vector<Buffer> &outputs, RunTimes &times) {
  Context context;
  context.description = &description;
  context.weights = &weights;
  context.inputs = &inputs;
  context.ranks = description.ranks;
  if (description.ranks == 1) {
    runHere(context, options, times);
    outputs = std::move(context.outputs);
    return {};
  }
  size_t bytes = sizeof(Report) * description.ranks;
  void *shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return failure(kIo, std::string("no shared memory: ") + std::strerror(errno));
  auto *reports = static_cast<Report *>(shared);
  std::vector<RankProcess> processes(description.ranks);
  Status status;
  pid_t launcher = ::getpid();
  for (int64_t rank = 0; rank < description.ranks && status.ok(); ++rank) {
    processes[rank].outputs = ::memfd_create("farskip-outputs", MFD_CLOEXEC);
    processes[rank].pid = processes[rank].outputs < 0 ? -1 : ::fork();
    if (processes[rank].pid == 0) {
      context.rank = rank;
      context.report = &reports[rank];
      runRank(context, options, processes[rank].outputs, launcher);
    }
    if (processes[rank].pid < 0) {
      status = failure(kIo, "cannot start rank " + std::to_string(rank) + ": " + std::strerror(errno));
      for (int64_t other = 0; other < rank; ++other)
        ::kill(processes[other].pid, SIGKILL);
      processes.resize(rank);
    }
  }
  Status ended = awaitRanks(processes, reports);
  if (status.ok())
    status = ended;
  if (status.ok())
    status = gather(description, processes, options, outputs, times);
  for (RankProcess &process : processes)
    if (process.outputs >= 0)
      ::close(process.outputs);
  ::munmap(shared, bytes);
  return status;
}

} // namespace farskip::runtime
