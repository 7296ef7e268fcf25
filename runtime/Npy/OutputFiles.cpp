// Writing .npy files so that they appear whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Npy/Npy.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <unistd.h>

namespace farskip::runtime {

/// Paths of temporaries that exist, for the signal handler: fixed storage, an
/// entry is live while its length is not 0.
static constexpr int kMaxLive = 256;
static char livePaths[kMaxLive][512];
static volatile int liveLengths[kMaxLive];

static void setLive(const std::string &path, bool live) {
  for (int i = 0; i < kMaxLive; ++i) {
    if (live && !liveLengths[i] && path.size() < sizeof livePaths[i]) {
      std::memcpy(livePaths[i], path.c_str(), path.size() + 1);
      liveLengths[i] = static_cast<int>(path.size());
      return;
    }
    if (!live && liveLengths[i] && path == livePaths[i])
      liveLengths[i] = 0;
  }
}

void OutputFiles::removeTemporaries() {
  for (int i = 0; i < kMaxLive; ++i)
    if (liveLengths[i])
      ::unlink(livePaths[i]);
}

static Status ioError(const std::string &what, const std::string &path) {
  return failure(kIo, what + " '" + escaped(path) + "': " + std::strerror(errno));
}

std::string npyHeader(const std::string &descr, const std::vector<int64_t> &shape) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i)
    text += std::to_string(shape[i]) + (shape.size() == 1 || i + 1 < shape.size() ? "," : "") +
            (i + 1 < shape.size() ? " " : "");
  text += "), }";
  text.append(63 - (text.size() + 10) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

OutputFiles::~OutputFiles() {
  for (const File &file : files)
    if (!file.temporary.empty()) {
      ::unlink(file.temporary.c_str());
      setLive(file.temporary, false);
    }
}

Status OutputFiles::add(const std::string &target, const std::string &header, const void *data, uint64_t bytes) {
  std::random_device random;
  std::string temporary;
  int fd = -1;
  for (int attempt = 0; attempt < 16 && fd < 0; ++attempt) {
    temporary = target + ".tmp-" + std::to_string(random());
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno != EEXIST)
      break;
  }
  if (fd < 0)
    return ioError("cannot write", target);
  files.push_back({temporary, target});
  setLive(temporary, true);
  auto write = [&](const char *from, uint64_t count) {
    while (count) {
      ssize_t done = ::write(fd, from, std::min<uint64_t>(count, 1 << 30));
      if (done < 0 && errno == EINTR)
        continue;
      if (done < 0)
        return false;
      from += done;
      count -= done;
    }
    return true;
  };
  bool good = write(header.data(), header.size()) && write(static_cast<const char *>(data), bytes);
  good = good && ::fsync(fd) == 0;
  int saved = errno;
  good = (::close(fd) == 0) && good;
  errno = saved;
  return good ? Status{} : ioError("cannot write", target);
}

Status OutputFiles::commit() {
  for (File &file : files) {
    if (::rename(file.temporary.c_str(), file.target.c_str()))
      return ioError("cannot write", file.target);
    setLive(file.temporary, false);
    file.temporary.clear();
  }
  return {};
}

} // namespace farskip::runtime
