// Output files that appear whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_DRIVER_OUTPUTFILE_H
#define FARSKIP_COMPILER_DRIVER_OUTPUTFILE_H

#include "llvm/Support/Error.h"
#include <string>

namespace farskip {

/// A temporary beside `target`, created exclusively, renamed onto it by `commit`; removed otherwise, also when the
/// process is ended by SIGINT or SIGTERM.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(OutputFile &&other) { *this = std::move(other); }
  OutputFile &operator=(OutputFile &&other);
  ~OutputFile();

  static llvm::Expected<OutputFile> create(llvm::StringRef target, unsigned mode = 0644);

  const std::string &temporary() const { return path; }
  llvm::Error write(llvm::StringRef bytes);
  /// Writes zeros up to `offset`.
  llvm::Error padTo(uint64_t offset);
  /// Flushes to the disk; to be called for every file before the first `commit`.
  llvm::Error finish();
  llvm::Error commit();

private:
  std::string path, target;
  int descriptor = -1;
  uint64_t written = 0;
};

} // namespace farskip

#endif
