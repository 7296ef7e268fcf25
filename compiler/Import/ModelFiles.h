// The files of a model, mapped read-only: the .onnx itself and its external data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace farskip::onnx::reader {

/// Where a tensor's bytes are. Copying it copies no data.
struct DataRef {
  static constexpr uint32_t owned = UINT32_MAX;
  uint32_t file = owned;        ///< index into ModelFiles, or `owned`: bytes made by the reader, at `memory`
  const char *memory = nullptr; ///< owned only
  uint64_t offset = 0;          ///< in the file
  uint64_t length = 0;          ///< in bytes

  bool isOwned() const { return file == owned; }
};

/// Owns the mappings. Pages are loaded when they are touched; a reference costs nothing.
class ModelFiles {
public:
  struct File {
    std::string path; ///< canonical where it could be found, so that it can be opened again later
    const char *data; ///< null for an empty file
    uint64_t size;
  };

  ModelFiles() = default;
  ModelFiles(ModelFiles &&other) : mapped(std::move(other.mapped)) { other.mapped.clear(); }
  ModelFiles &operator=(ModelFiles &&other) {
    std::swap(mapped, other.mapped);
    return *this;
  }
  ~ModelFiles();

  /// Maps the regular file behind `descriptor` (which stays the caller's) and returns its index.
  llvm::Expected<uint32_t> map(int descriptor, uint64_t size, std::string path);

  /// The bytes of a checked reference, little-endian and with no alignment to rely on.
  llvm::ArrayRef<char> bytes(const DataRef &data) const {
    if (data.isOwned())
      return {data.memory, static_cast<size_t>(data.length)};
    return {mapped[data.file].data + data.offset, static_cast<size_t>(data.length)};
  }

  const File &operator[](uint32_t index) const { return mapped[index]; }
  size_t size() const { return mapped.size(); }

private:
  std::vector<File> mapped;
};

} // namespace farskip::onnx::reader
