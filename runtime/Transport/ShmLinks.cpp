// Byte streams through memory that the ranks of one machine share.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Transport/ShmLinks.h"
#include "runtime/Transport/Futex.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace farskip::runtime {

namespace {

/// Stands before each ring. `written` is the sender's, `read` the receiver's.
struct Ends {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
};

constexpr size_t kLargestRing = 256 << 10, kSmallestRing = 16 << 10, kAllRings = 16 << 20;
/// A sleep never misses a ring of the doorbell; should a machine lose one, this bounds it.
constexpr int64_t kLongestSleepNs = 500'000'000;

class ShmLinks final : public Links {
public:
  ShmLinks(const SharedMemory &memory, int64_t rank) : memory(memory), control(memory.control()), rank(rank) {}

  size_t write(int64_t peer, const iovec *parts, int count) override {
    Ends &ends = endsOf(rank, peer);
    uint64_t at = ends.written.load(std::memory_order_relaxed);
    size_t room = memory.channelBytes() - (at - ends.read.load(std::memory_order_acquire));
    size_t moved = copy(memory.channel(rank, peer) + sizeof(Ends), at, room, parts, count, true);
    if (moved) {
      ends.written.store(at + moved, std::memory_order_release);
      control.ring(peer);
    }
    return moved;
  }

  size_t read(int64_t peer, const iovec *parts, int count) override {
    Ends &ends = endsOf(peer, rank);
    uint64_t at = ends.read.load(std::memory_order_relaxed);
    size_t filled = ends.written.load(std::memory_order_acquire) - at;
    size_t moved = copy(memory.channel(peer, rank) + sizeof(Ends), at, filled, parts, count, false);
    if (moved) {
      ends.read.store(at + moved, std::memory_order_release);
      control.ring(peer);
    }
    return moved;
  }

  uint32_t ticket() override {
    if (control.abort)
      ::_exit(kPeerFailed);
    return state().doorbell.load();
  }

  void sleep(uint32_t ticket, const bool *, const bool *) override {
    state().sleeping = 1;
    if (state().doorbell.load() == ticket)
      futexWait(state().doorbell, ticket, FutexScope::Shared, kLongestSleepNs);
    state().sleeping = 0;
  }

  void wake() override { control.ring(rank); }

private:
  RankState &state() { return control.states[rank]; }
  Ends &endsOf(int64_t from, int64_t to) { return *reinterpret_cast<Ends *>(memory.channel(from, to)); }

  size_t copy(char *ring, uint64_t at, size_t limit, const iovec *parts, int count, bool toRing) {
    size_t bytes = memory.channelBytes(), moved = 0;
    for (int i = 0; i < count && moved < limit; ++i) {
      char *part = static_cast<char *>(parts[i].iov_base);
      size_t length = std::min(parts[i].iov_len, limit - moved);
      for (size_t done = 0; done < length;) {
        size_t position = (at + moved) & (bytes - 1);
        size_t step = std::min(length - done, bytes - position);
        if (toRing)
          std::memcpy(ring + position, part + done, step);
        else
          std::memcpy(part + done, ring + position, step);
        done += step;
        moved += step;
      }
    }
    return moved;
  }

  const SharedMemory &memory;
  Control &control;
  int64_t rank;
};

} // namespace

SharedMemory::~SharedMemory() {
  if (memory)
    ::munmap(memory, size);
}

Status SharedMemory::create(int64_t ranks) {
  size_t channels = ranks * (ranks - 1);
  ringBytes = kLargestRing;
  while (ringBytes > kSmallestRing && ringBytes * channels > kAllRings)
    ringBytes /= 2;
  firstChannel = (Control::bytes(ranks) + 4095) / 4096 * 4096;
  size = firstChannel + channels * (sizeof(Ends) + ringBytes);
  std::string what = "no shared memory for " + std::to_string(ranks) + " ranks (" + std::to_string(size) + " bytes): ";
  void *mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return failure(kIo, what + std::strerror(errno));
  memory = mapped;
  // Kernels before 5.14 do not know the advice; there the pages come as they are touched.
  if (::madvise(memory, size, MADV_POPULATE_WRITE) && errno != EINVAL)
    return failure(kIo, what + std::strerror(errno));
  control().ranks = ranks;
  return {};
}

char *SharedMemory::channel(int64_t from, int64_t to) const {
  int64_t number = from * (control().ranks - 1) + to - (to > from);
  return static_cast<char *>(memory) + firstChannel + number * (sizeof(Ends) + ringBytes);
}

std::unique_ptr<Links> makeShmLinks(const SharedMemory &memory, int64_t rank) {
  return std::make_unique<ShmLinks>(memory, rank);
}

} // namespace farskip::runtime
