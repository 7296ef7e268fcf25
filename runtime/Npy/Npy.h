// Reading and writing .npy files (format versions 1 to 3).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace farskip::runtime {

/// What a header says. Checked: every extent is at least 0 and their product
/// times the item size fits 63 bits.
struct NpyHeader {
  std::string descr; ///< little-endian form, such as <f4; see `bigEndian`
  bool bigEndian = false;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
  int64_t itemBytes = 0;
  uint64_t dataOffset = 0;

  int64_t elements() const {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    return count;
  }
};

/// Parses the header of a file of `fileBytes` bytes whose first bytes are
/// `data`. The data must end where the file does.
Status parseNpyHeader(const std::string &data, uint64_t fileBytes, NpyHeader &header);

/// Reads only the header of `path`.
Status readNpyHeader(const std::string &path, NpyHeader &header);

/// Reads the elements of `path` to `destination`: row-major and little-endian,
/// whatever the file's order.
Status readNpyData(const std::string &path, const NpyHeader &header, void *destination);

/// The bytes of a version 1.0 header.
std::string npyHeader(const std::string &descr, const std::vector<int64_t> &shape);

/// Files that appear whole or not at all: written as temporaries beside their
/// targets, renamed together by `commit`.
class OutputFiles {
public:
  ~OutputFiles();
  Status add(const std::string &target, const std::string &header, const void *data, uint64_t bytes);
  Status commit();
  /// Removes what was written; for signal handlers too.
  static void removeTemporaries();

private:
  struct File {
    std::string temporary, target;
  };
  std::vector<File> files;
};

} // namespace farskip::runtime
