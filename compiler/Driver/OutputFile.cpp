// Output files that appear whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/OutputFile.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

using namespace farskip;

static llvm::Error ioError(const llvm::Twine &what) {
  int code = errno;
  return llvm::createStringError(std::error_code(code, std::generic_category()), what + ": " + std::strerror(code));
}

OutputFile &OutputFile::operator=(OutputFile &&other) {
  std::swap(path, other.path);
  std::swap(target, other.target);
  std::swap(descriptor, other.descriptor);
  std::swap(written, other.written);
  return *this;
}

llvm::Expected<OutputFile> OutputFile::create(llvm::StringRef target, unsigned mode) {
  OutputFile file;
  file.target = target.str();
  std::random_device random;
  for (int attempt = 0; attempt < 16 && file.descriptor < 0; ++attempt) {
    file.path = (target + ".tmp-" + llvm::Twine::utohexstr(random())).str();
    file.descriptor = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file.descriptor < 0 && errno != EEXIST)
      break;
  }
  if (file.descriptor < 0) {
    file.path.clear();
    return ioError("cannot write '" + target + "'");
  }
  llvm::sys::RemoveFileOnSignal(file.path);
  return file;
}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!path.empty()) {
    ::unlink(path.c_str());
    llvm::sys::DontRemoveFileOnSignal(path);
  }
}

llvm::Error OutputFile::write(llvm::StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(descriptor, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return ioError("cannot write '" + target + "'");
    written += count;
    bytes = bytes.drop_front(count);
  }
  return llvm::Error::success();
}

llvm::Error OutputFile::padTo(uint64_t offset) {
  static const char zeros[64] = {};
  while (written < offset)
    if (llvm::Error error = write({zeros, static_cast<size_t>(std::min<uint64_t>(64, offset - written))}))
      return error;
  return llvm::Error::success();
}

llvm::Error OutputFile::finish() {
  if (descriptor < 0)
    return llvm::Error::success();
  int synced = ::fsync(descriptor), closed = ::close(descriptor);
  descriptor = -1;
  if (synced || closed)
    return ioError("cannot write '" + target + "'");
  return llvm::Error::success();
}

llvm::Error OutputFile::commit() {
  if (llvm::Error error = finish())
    return error;
  if (::rename(path.c_str(), target.c_str()))
    return ioError("cannot rename to '" + target + "'");
  llvm::sys::DontRemoveFileOnSignal(path);
  path.clear();
  return llvm::Error::success();
}
