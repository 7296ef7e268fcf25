// Writing the weights file in the order in which the kernels read it.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/PackedWeights.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace farskip;

namespace {

/// Bytes that are packed before they are written.
constexpr int64_t kBuffer = 8 << 20;
/// A square of this many items is turned around at a time.
constexpr int64_t kSquare = 32;

/// Packs the columns [first, first + count) of one matrix into panels; `out` is zero.
template <typename Item>
void packColumns(const WeightEntry &entry, const char *matrix, int64_t first, int64_t count, char *out) {
  auto get = [&](int64_t at) {
    Item item; // the bytes of a model are not aligned
    std::memcpy(&item, matrix + at * sizeof(Item), sizeof(Item));
    return item;
  };
  auto *target = reinterpret_cast<Item *>(out);
  auto place = [&](int64_t row, int64_t column) -> Item & {
    int64_t at = column - first;
    return target[(at / entry.block * entry.rows + row) * entry.block + at % entry.block];
  };
  if (!entry.transposed) {
    for (int64_t row = 0; row < entry.rows; ++row)
      for (int64_t column = first; column < first + count; column += entry.block)
        std::memcpy(&place(row, column), matrix + (row * entry.columns + column) * sizeof(Item),
                    std::min(entry.block, first + count - column) * sizeof(Item));
    return;
  }
  for (int64_t column = first; column < first + count; column += kSquare)
    for (int64_t row = 0; row < entry.rows; row += kSquare)
      for (int64_t c = column; c < std::min(column + kSquare, first + count); ++c)
        for (int64_t r = row; r < std::min(row + kSquare, entry.rows); ++r)
          place(r, c) = get(c * entry.rows + r);
}

void packColumns(const WeightEntry &entry, const char *matrix, int64_t first, int64_t count, char *out) {
  switch (entry.itemBytes) {
  case 2:
    return packColumns<uint16_t>(entry, matrix, first, count, out);
  default:
    return packColumns<uint32_t>(entry, matrix, first, count, out);
  }
}

} // namespace

llvm::Error farskip::writeWeight(const WeightEntry &entry, llvm::ArrayRef<char> bytes,
                                 llvm::function_ref<llvm::Error(llvm::ArrayRef<char>)> write) {
  if (!entry.block)
    return write(bytes);
  int64_t matrix = entry.rows * entry.columns * entry.itemBytes;
  int64_t panel = entry.rows * entry.block * entry.itemBytes, panels = llvm::divideCeil(entry.columns, entry.block);
  int64_t step = std::clamp<int64_t>(kBuffer / std::max<int64_t>(1, panel), 1, panels);
  std::vector<char> buffer;
  for (int64_t start = 0; matrix && start + matrix <= static_cast<int64_t>(bytes.size()); start += matrix)
    for (int64_t first = 0; first < panels; first += step) {
      int64_t count = std::min(step, panels - first), column = first * entry.block;
      buffer.assign(count * panel, 0);
      packColumns(entry, bytes.data() + start, column, std::min(count * entry.block, entry.columns - column),
                  buffer.data());
      if (llvm::Error error = write(buffer))
        return error;
    }
  return llvm::Error::success();
}
