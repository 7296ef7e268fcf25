// The state of one rank while the program runs: what `farskip_rt_context`
// points to. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Collectives/Communicator.h"
#include "runtime/Model/Description.h"
#include "runtime/Pool/Pool.h"
#include "runtime/Transport/Sockets.h"
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace farskip::runtime {

/// A row-major tensor in memory that it owns, 64-byte aligned.
class Buffer {
public:
  Buffer() = default;
  Buffer(Buffer &&other) { *this = std::move(other); }
  Buffer &operator=(Buffer &&other) {
    std::swap(memory, other.memory);
    std::swap(capacity, other.capacity);
    std::swap(shape, other.shape);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~Buffer();

  /// False when there is no memory.
  bool allocate(std::vector<int64_t> shape, int64_t itemBytes);
  char *data() const { return memory; }

  std::vector<int64_t> shape;
  uint64_t bytes = 0;

private:
  char *memory = nullptr;
  uint64_t capacity = 0;
};

/// The mapped weights file.
class Weights {
public:
  ~Weights();
  /// Maps `path` and checks its size and build id against the program's.
  Status map(const std::string &path, const Description &description);
  const char *data() const { return mapped; }

private:
  const char *mapped = nullptr;
  uint64_t size = 0;
};

struct Context {
  Context();
  ~Context();

  const Description *description = nullptr;
  const Weights *weights = nullptr;
  int64_t rank = 0, ranks = 1;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<Communicator> communicator;
  std::vector<const Buffer *> inputs; ///< what the program reads: whole inputs, or this rank's slices
  std::vector<Buffer> slices;
  std::vector<Buffer> outputs;
  std::vector<double> seconds; ///< of each run
  double startSeconds = 0;
  int64_t launchNs = 0;
  int64_t steadyTimeout = 0; ///< deadline once the first run is done
  Buffer arena;
  Control *control = nullptr;  ///< null where there is one rank
  const Mesh *world = nullptr; ///< where no launcher of ours sees this rank's end: whom to tell

  /// Ends this process with an error: printed, or left for the launcher. From any thread of the rank.
  [[noreturn]] void fail(int code, const std::string &message);
  /// The same with a message that already says whose failure it is.
  [[noreturn]] void failAs(int code, const std::string &message);
  /// All ranks go on, or all end with the error of the first that has one.
  void agree(const Status &own);
};

/// The block of `extent` that belongs to `rank`: first index and length.
/// Lengths differ by at most one, longer first.
struct Block {
  int64_t first, length;
};
inline Block blockOf(int64_t extent, int64_t rank, int64_t ranks) {
  int64_t each = extent / ranks, more = extent % ranks;
  return {rank * each + (rank < more ? rank : more), each + (rank < more)};
}

} // namespace farskip::runtime
