// Mapping of model files.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/ModelFiles.h"

#include "compiler/Import/Diagnostics.h"
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace llvm;

namespace farskip::onnx::reader {

ModelFiles::~ModelFiles() {
  for (const File &file : mapped)
    if (file.data)
      munmap(const_cast<char *>(file.data), file.size);
}

Expected<uint32_t> ModelFiles::map(int descriptor, uint64_t size, std::string path) {
  void *data = nullptr;
  if (size) {
    data = mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (data == MAP_FAILED)
      return failure("cannot map " + quoted(path, 256) + " (" + Twine(size) + " bytes): " + std::strerror(errno));
  }
  mapped.push_back({std::move(path), static_cast<const char *>(data), size});
  return static_cast<uint32_t>(mapped.size() - 1);
}

} // namespace farskip::onnx::reader
