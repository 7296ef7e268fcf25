// External tensor data: which files a model may name, and which bytes of them a tensor is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/Diagnostics.h"
#include "compiler/Import/ImportOptions.h"
#include "compiler/Import/ModelFiles.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace farskip::onnx::reader {

struct Property;

/// Digits only, no sign, no leading zero, at most 2^63 - 1; nothing for any other text.
std::optional<uint64_t> parseDecimal(llvm::StringRef text);

/// A file descriptor that is closed at the end of its scope.
class UniqueFd {
public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd(fd) {}
  UniqueFd(UniqueFd &&other) : fd(other.release()) {}
  UniqueFd &operator=(UniqueFd &&other);
  ~UniqueFd();
  int get() const { return fd; }
  int release() { return std::exchange(fd, -1); }
  explicit operator bool() const { return fd >= 0; }

private:
  int fd = -1;
};

/// Opens external data files by the rules below, each once, and maps them.
///
/// A location is a relative path without "..". It is looked for beneath the model's folder, then, when the model is a
/// symbolic link, beneath the folder of the real file, then beneath each allowed folder. Links inside these folders
/// are followed only if the file they lead to lies beneath one of them (model caches link the model and its data to
/// files elsewhere, both to the same folder). Only regular files are opened, and opening never blocks.
class ExternalData {
public:
  /// `files` must outlive this. Errors: a folder of the options that cannot be opened.
  static llvm::Expected<ExternalData> create(ModelFiles &files, llvm::StringRef modelPath,
                                             llvm::StringRef realModelPath, const ImportOptions &options);

  /// The reference for a tensor whose external_data entries are `entries` and that needs `bytes` bytes.
  /// Errors do not name the tensor: the caller does.
  llvm::Expected<DataRef> resolve(llvm::ArrayRef<Property> entries, uint64_t bytes);

private:
  struct Root {
    UniqueFd fd;
    std::string canonical; ///< with a slash at its end; empty where it is not known
  };

  ExternalData(ModelFiles &files, const ImportOptions &options) : files(&files), options(&options) {}
  llvm::Expected<uint32_t> open(llvm::StringRef location);
  llvm::Expected<UniqueFd> find(llvm::StringRef location);
  bool isBeneathRoot(llvm::StringRef canonical) const;

  ModelFiles *files;
  const ImportOptions *options;
  std::vector<Root> roots;
  llvm::StringMap<uint32_t> byLocation;
  llvm::DenseMap<std::pair<uint64_t, uint64_t>, uint32_t> byInode; ///< (device, inode)
};

/// The path of an open file as the kernel knows it; empty where /proc is not there.
std::string canonicalPath(int descriptor);

} // namespace farskip::onnx::reader
