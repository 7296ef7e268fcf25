// What the ranks have at the end of a run.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/Results.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace farskip::runtime {

namespace {

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

template <typename T> bool writeList(int fd, const std::vector<T> &list) {
  size_t count = list.size();
  return writeAll(fd, &count, sizeof count) && writeAll(fd, list.data(), count * sizeof(T));
}

template <typename T> bool readList(int fd, std::vector<T> &list) {
  size_t count;
  if (!readAll(fd, &count, sizeof count))
    return false;
  list.resize(count);
  return readAll(fd, list.data(), count * sizeof(T));
}

struct TotalsEntry {
  int64_t op;
  Kind kind;
  OpTotals totals;
};

} // namespace

RankResults takeResults(Context &context) {
  RankResults results;
  results.outputs = std::move(context.outputs);
  results.seconds = std::move(context.seconds);
  results.startSeconds = context.startSeconds;
  results.totals = std::move(context.communicator->totals);
  results.trace = std::move(context.communicator->trace);
  return results;
}

bool sendResults(int fd, const RankResults &results) {
  std::vector<TotalsEntry> entries;
  for (const auto &[key, totals] : results.totals)
    entries.push_back({key.first, key.second, totals});
  bool good = writeList(fd, results.seconds) && writeAll(fd, &results.startSeconds, sizeof(double)) &&
              writeList(fd, entries) && writeList(fd, results.trace);
  size_t outputs = results.outputs.size();
  good = good && writeAll(fd, &outputs, sizeof outputs);
  for (const Buffer &output : results.outputs)
    good = good && writeList(fd, output.shape) && writeAll(fd, output.data(), output.bytes);
  return good;
}

bool receiveResults(int fd, const Description &description, RankResults &results) {
  std::vector<TotalsEntry> entries;
  size_t outputs;
  if (::lseek(fd, 0, SEEK_SET) || !readList(fd, results.seconds) ||
      !readAll(fd, &results.startSeconds, sizeof(double)) || !readList(fd, entries) || !readList(fd, results.trace) ||
      !readAll(fd, &outputs, sizeof outputs))
    return false;
  for (const TotalsEntry &entry : entries)
    results.totals[{entry.op, entry.kind}] = entry.totals;
  results.outputs.resize(outputs);
  for (size_t i = 0; i < outputs; ++i) {
    std::vector<int64_t> shape;
    Buffer &output = results.outputs[i];
    if (!readList(fd, shape) || !output.allocate(shape, description.outputs[i].type.bytes) ||
        !readAll(fd, output.data(), output.bytes))
      return false;
  }
  return true;
}

Status sliceInput(Context &context, const Buffer &whole, size_t index) {
  const Port &port = context.description->inputs[index];
  context.inputs[index] = &whole;
  if (port.shardAxis < 0 || context.ranks == 1)
    return {};
  std::vector<int64_t> shape = whole.shape;
  int64_t extent = shape[port.shardAxis];
  Block block = blockOf(extent, context.rank, context.ranks);
  shape[port.shardAxis] = block.length;
  Buffer &slice = context.slices[index];
  if (!slice.allocate(shape, port.type.bytes))
    return failure(kIo, "no memory for input '" + escaped(port.name) + "'");
  AxisView view(whole.shape, port.shardAxis, port.type.bytes);
  copyBlock(whole.data(), slice.data(), view.outer, extent, block, view.innerBytes, false);
  context.inputs[index] = &slice;
  return {};
}

Status sliceInputs(Context &context, const std::vector<Buffer> &whole) {
  context.slices.resize(whole.size());
  context.inputs.resize(whole.size());
  for (size_t i = 0; i < whole.size(); ++i)
    if (Status status = sliceInput(context, whole[i], i); !status.ok())
      return status;
  return {};
}

Status joinOutputs(const Description &description, std::vector<RankResults> &parts, std::vector<Buffer> &outputs) {
  outputs.resize(description.outputs.size());
  for (size_t i = 0; i < description.outputs.size(); ++i) {
    const Port &port = description.outputs[i];
    if (port.shardAxis < 0 || parts.size() == 1) {
      outputs[i] = std::move(parts[0].outputs[i]);
      continue;
    }
    std::vector<int64_t> shape = parts[0].outputs[i].shape;
    for (size_t rank = 1; rank < parts.size(); ++rank) {
      std::vector<int64_t> other = parts[rank].outputs[i].shape;
      shape[port.shardAxis] += other[port.shardAxis];
      other[port.shardAxis] = shape[port.shardAxis];
      if (other != shape)
        return failure(kInternal, "the ranks disagree on the shape of output '" + escaped(port.name) + "'");
    }
    if (!outputs[i].allocate(shape, port.type.bytes))
      return failure(kIo, "no memory for output '" + escaped(port.name) + "'");
    AxisView view(shape, port.shardAxis, port.type.bytes);
    int64_t first = 0;
    for (const RankResults &part : parts) {
      int64_t length = part.outputs[i].shape[port.shardAxis];
      copyBlock(outputs[i].data(), part.outputs[i].data(), view.outer, shape[port.shardAxis], {first, length},
                view.innerBytes, true);
      first += length;
    }
  }
  return {};
}

} // namespace farskip::runtime
