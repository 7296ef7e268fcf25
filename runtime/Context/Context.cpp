// The state of one rank, and the C interface on it.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Context/Context.h"
#include "farskip/rt.h"
#include "farskip/weights.h"
#include "runtime/Transport/TcpLinks.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace farskip::runtime {

Buffer::~Buffer() { std::free(memory); }

bool Buffer::allocate(std::vector<int64_t> newShape, int64_t itemBytes) {
  int64_t total = itemBytes;
  for (int64_t extent : newShape)
    if (__builtin_mul_overflow(total, extent, &total))
      return false;
  uint64_t needed = (static_cast<uint64_t>(total) + 127) / 64 * 64;
  if (needed > capacity) {
    std::free(memory);
    memory = static_cast<char *>(std::aligned_alloc(64, needed));
    capacity = memory ? needed : 0;
    if (!memory)
      return false;
  }
  shape = std::move(newShape);
  bytes = total;
  return true;
}

Weights::~Weights() {
  if (mapped)
    ::munmap(const_cast<char *>(mapped), size);
}

Status Weights::map(const std::string &path, const Description &description) {
  if (!description.weightsBytes)
    return {};
  std::string name = "weights file '" + escaped(path) + "'";
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return failure(kIo, name + ": " + std::strerror(errno));
  struct stat info;
  bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (!regular || static_cast<uint64_t>(info.st_size) != description.weightsBytes) {
    ::close(fd);
    return failure(regular ? kInputError : kIo,
                   name + (regular ? " has " + std::to_string(info.st_size) + " bytes, this program's has " +
                                         std::to_string(description.weightsBytes)
                                   : " is not a regular file"));
  }
  size = info.st_size;
  void *at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED)
    return failure(kIo, name + ": " + std::strerror(errno));
  mapped = static_cast<const char *>(at);
  farskip_weights_header header;
  std::memcpy(&header, mapped, sizeof header);
  std::string id(header.build_id, ::strnlen(header.build_id, sizeof header.build_id));
  if (std::memcmp(header.magic, "FSKWGHT1", 8) || header.version != 1)
    return failure(kInputError, name + " is not a weights file of this version");
  if (id != description.buildId)
    return failure(kInputError, name + " has build id " + escaped(id) + ", this program has " + description.buildId);
  return {};
}

Context::Context() : communicator(std::make_unique<Communicator>(*this)) {}
Context::~Context() = default;

void Context::fail(int code, const std::string &message) {
  // An input error is about the input, whichever rank saw it.
  bool blames = ranks > 1 && code != kInputError;
  failAs(code, blames ? "rank " + std::to_string(rank) + ": " + message : message);
}

void Context::failAs(int code, const std::string &message) {
  static std::mutex oneFailure; // the second thread to fail waits here for the end of the process
  oneFailure.lock();
  if (control && !world)
    control->claim(rank, code, message.c_str());
  if (world && wantsRecords(code))
    control->dump(description, launchNs);
  if (world || !control)
    printError(message);
  // Only now: what the others answer ends this process.
  if (world)
    sendNotices(*world, code, message.c_str());
  ::_exit(code);
}

void Context::agree(const Status &own) {
  if (ranks == 1) {
    if (!own.ok())
      fail(own.code, own.message);
    return;
  }
  std::string text = own.ok() ? "" : std::string(1, static_cast<char>(own.code)) + own.message;
  std::vector<std::string> all = communicator->gather(Kind::Agreement, text);
  for (int64_t other = 0; other < ranks; ++other)
    if (!all[other].empty()) {
      if (other == rank)
        fail(own.code, own.message);
      // That rank says what it is; this one only waits for its end.
      communicator->awaitAbort();
    }
}

} // namespace farskip::runtime

using namespace farskip::runtime;

static Context &of(farskip_rt_context *context) { return *reinterpret_cast<Context *>(context); }

/// An MLIR memref descriptor of any rank.
struct Descriptor {
  char *allocated, *aligned;
  int64_t offset;
  int64_t sizesAndStrides[];
};

extern "C" {

void farskip_rt_input_get(farskip_rt_context *handle, int64_t index, int64_t rank, void *target) {
  Context &context = of(handle);
  const Buffer &input = *context.inputs[index];
  auto *descriptor = static_cast<Descriptor *>(target);
  descriptor->allocated = descriptor->aligned = input.data();
  descriptor->offset = 0;
  int64_t stride = 1;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    descriptor->sizesAndStrides[axis] = input.shape[axis];
    descriptor->sizesAndStrides[rank + axis] = stride;
    stride *= input.shape[axis];
  }
}

void farskip_rt_output_set(farskip_rt_context *handle, int64_t index, int64_t rank, const void *source) {
  Context &context = of(handle);
  const auto *descriptor = static_cast<const Descriptor *>(source);
  const int64_t *sizes = descriptor->sizesAndStrides, *strides = sizes + rank;
  int64_t item = context.description->outputs[index].type.bytes;
  Buffer &output = context.outputs[index];
  if (!output.allocate(std::vector<int64_t>(sizes, sizes + rank), item))
    context.fail(kIo, "no memory for output '" + escaped(context.description->outputs[index].name) + "'");
  const char *base = descriptor->aligned + descriptor->offset * item;
  bool dense = true;
  for (int64_t axis = rank - 1, step = 1; axis >= 0; step *= sizes[axis--])
    dense &= sizes[axis] <= 1 || strides[axis] == step;
  if (dense) {
    if (output.bytes) // an empty tensor may have no address
      std::memcpy(output.data(), base, output.bytes);
    return;
  }
  std::vector<int64_t> position(rank, 0);
  for (uint64_t done = 0; done < output.bytes; done += item) {
    int64_t at = 0;
    for (int64_t axis = 0; axis < rank; ++axis)
      at += position[axis] * strides[axis];
    std::memcpy(output.data() + done, base + at * item, item);
    for (int64_t axis = rank - 1; axis >= 0 && ++position[axis] == sizes[axis]; --axis)
      position[axis] = 0;
  }
}

const void *farskip_rt_weight_get(farskip_rt_context *handle, int64_t offset) {
  return of(handle).weights->data() + offset;
}

void *farskip_rt_arena_get(farskip_rt_context *handle, int64_t bytes) {
  Context &context = of(handle);
  if (bytes < 0 || !context.arena.allocate({bytes}, 1))
    context.fail(kIo, "no memory for an arena of " + std::to_string(bytes) + " bytes");
  return context.arena.data();
}

void *farskip_rt_buffer_alloc(farskip_rt_context *handle, int64_t bytes) {
  void *buffer = bytes < 0 || bytes > INT64_MAX - 127 ? nullptr : std::aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (!buffer)
    of(handle).fail(kIo, "no memory for a buffer of " + std::to_string(bytes) + " bytes");
  return buffer;
}

void farskip_rt_buffer_free(farskip_rt_context *, void *buffer) { std::free(buffer); }

void farskip_rt_run_fail(farskip_rt_context *handle, const char *message, const int64_t *values, int64_t count) {
  std::string text;
  for (const char *at = message; *at; ++at) {
    if (at[0] == '{' && at[1] >= '0' && at[1] <= '9' && at[2] == '}' && at[1] - '0' < count) {
      text += std::to_string(values[at[1] - '0']);
      at += 2;
    } else {
      text += *at;
    }
  }
  of(handle).fail(kInputError, text);
}

void farskip_rt_parallel_for(farskip_rt_context *handle, int64_t begin, int64_t end, int64_t grain,
                             void (*body)(farskip_rt_context *, void *, int64_t, int64_t), void *arguments) {
  of(handle).pool->parallelFor(begin, end, grain, reinterpret_cast<Pool::Body>(body), handle, arguments);
}

int64_t farskip_rt_rank_get(farskip_rt_context *handle) { return of(handle).rank; }
int64_t farskip_rt_ranks_get(farskip_rt_context *handle) { return of(handle).ranks; }

} // extern "C"
