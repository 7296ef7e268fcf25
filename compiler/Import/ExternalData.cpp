// External tensor data: the policy, and the system calls that enforce it.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/ExternalData.h"

#include "compiler/Import/Proto.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;

namespace farskip::onnx::reader {

UniqueFd &UniqueFd::operator=(UniqueFd &&other) {
  std::swap(fd, other.fd);
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd >= 0)
    close(fd);
}

std::optional<uint64_t> parseDecimal(StringRef text) {
  if (text.empty() || text.size() > 19 || (text.size() > 1 && text[0] == '0'))
    return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return std::nullopt;
    value = value * 10 + (c - '0'); // 19 digits fit 64 bits
  }
  if (value > static_cast<uint64_t>(INT64_MAX))
    return std::nullopt;
  return value;
}

static std::string descriptorLink(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

std::string canonicalPath(int descriptor) {
  char buffer[PATH_MAX + 1];
  ssize_t length = readlink(descriptorLink(descriptor).c_str(), buffer, sizeof buffer);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof buffer || buffer[0] != '/')
    return {};
  return std::string(buffer, length);
}

/// Opens `location` beneath `root` without reading it (O_PATH), or sets errno. Links that leave `root` are EXDEV.
static UniqueFd openBeneath(int root, const std::string &location) {
  struct open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0; attempt < 16; ++attempt) {
    long fd = syscall(SYS_openat2, root, location.c_str(), &how, sizeof how);
    if (fd >= 0 || (errno != EAGAIN && errno != ENOSYS && errno != EPERM))
      return UniqueFd(static_cast<int>(fd));
    if (errno != EAGAIN)
      break;
  }
  // Kernels before 5.6 and sandboxes without openat2: walk, and follow no link at all.
  UniqueFd at(dup(root));
  SmallVector<StringRef> parts;
  StringRef(location).split(parts, '/', -1, /*KeepEmpty=*/false);
  for (size_t i = 0; i < parts.size() && at; ++i) {
    int directory = i + 1 < parts.size() ? O_DIRECTORY : 0;
    UniqueFd next(openat(at.get(), parts[i].str().c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW | directory));
    struct stat status;
    if (next && !directory && fstat(next.get(), &status) == 0 && S_ISLNK(status.st_mode)) {
      errno = EXDEV;
      return {};
    }
    at = std::move(next);
  }
  return at;
}

Expected<ExternalData> ExternalData::create(ModelFiles &files, StringRef modelPath, StringRef realModelPath,
                                            const ImportOptions &options) {
  ExternalData data(files, options);
  auto add = [&](StringRef folder) -> Error {
    std::string path = folder.empty() ? "." : folder.str();
    Root root;
    root.fd = UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.fd)
      return failure("cannot open the folder " + quoted(path, 256) + " for external data: " + std::strerror(errno));
    root.canonical = canonicalPath(root.fd.get());
    if (!root.canonical.empty() && root.canonical.back() != '/')
      root.canonical += '/';
    for (const Root &other : data.roots)
      if (!root.canonical.empty() && other.canonical == root.canonical)
        return Error::success();
    data.roots.push_back(std::move(root));
    return Error::success();
  };
  if (Error error = add(sys::path::parent_path(modelPath)))
    return std::move(error);
  if (!realModelPath.empty())
    if (Error error = add(sys::path::parent_path(realModelPath)))
      return std::move(error);
  for (const std::string &folder : options.allowedExternalDirs)
    if (Error error = add(folder))
      return std::move(error);
  return std::move(data);
}

bool ExternalData::isBeneathRoot(StringRef canonical) const {
  for (const Root &root : roots)
    if (!root.canonical.empty() && canonical.starts_with(root.canonical))
      return true;
  return false;
}

/// The rule that `location` breaks by its text alone, empty when it breaks none.
static std::string badLocation(StringRef location) {
  if (location.empty())
    return "is empty; it has to be a path relative to the model's folder";
  if (location.contains('\0'))
    return "holds a NUL character";
  if (location.size() >= PATH_MAX)
    return "has " + std::to_string(location.size()) + " characters; the limit is " + std::to_string(PATH_MAX - 1);
  if (location.starts_with("/"))
    return "is absolute; it has to be relative to the model's folder";
  SmallVector<StringRef> parts;
  location.split(parts, '/');
  for (StringRef part : parts)
    if (part == "..")
      return "holds '..'; data has to lie beneath the model's folder";
  return {};
}

Expected<UniqueFd> ExternalData::find(StringRef location) {
  std::string path = location.str();
  int firstErrno = ENOENT;
  bool leaves = false;
  for (const Root &root : roots) {
    UniqueFd fd = openBeneath(root.fd.get(), path);
    if (!fd && errno == EXDEV) {
      leaves = true;
      // A link out of this folder is fine if the file itself lies beneath another one that is allowed.
      fd = UniqueFd(openat(root.fd.get(), path.c_str(), O_PATH | O_CLOEXEC));
      if (fd && !isBeneathRoot(canonicalPath(fd.get())))
        fd = UniqueFd();
    }
    if (fd)
      return std::move(fd);
    if (errno != ENOENT && firstErrno == ENOENT)
      firstErrno = errno;
  }
  if (leaves)
    return failure("leads out of the model's folder through a symbolic link; --allow-external-dir=DIR allows more "
                   "folders");
  return failure(Twine("cannot be opened: ") + std::strerror(firstErrno));
}

Expected<uint32_t> ExternalData::open(StringRef location) {
  auto known = byLocation.find(location);
  if (known != byLocation.end())
    return known->second;
  std::string rule = badLocation(location);
  if (!rule.empty())
    return failure(rule);
  Expected<UniqueFd> found = find(location);
  if (!found)
    return found.takeError();
  struct stat status;
  if (fstat(found->get(), &status))
    return failure(Twine("cannot be examined: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode))
    return failure("is a folder; it has to be a regular file");
  if (!S_ISREG(status.st_mode))
    return failure("is not a regular file");
  if (options->strictExternalData && status.st_nlink > 1)
    return failure("has " + Twine(status.st_nlink) + " hard links, which --strict-external-data refuses");
  std::pair<uint64_t, uint64_t> inode(status.st_dev, status.st_ino);
  auto same = byInode.find(inode);
  if (same != byInode.end()) {
    byLocation[location] = same->second;
    return same->second;
  }
  // Opening the descriptor again (not the path) keeps the file that was checked.
  UniqueFd readable(::open(descriptorLink(found->get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!readable)
    return failure(Twine("cannot be opened: ") + std::strerror(errno));
  std::string path = canonicalPath(found->get());
  Expected<uint32_t> index =
      files->map(readable.get(), static_cast<uint64_t>(status.st_size), path.empty() ? location.str() : path);
  if (!index)
    return index.takeError();
  byLocation[location] = *index;
  byInode[inode] = *index;
  return *index;
}

Expected<DataRef> ExternalData::resolve(ArrayRef<Property> entries, uint64_t bytes) {
  static constexpr StringRef keys[] = {"location", "offset", "length", "checksum"};
  std::optional<StringRef> values[std::size(keys)];
  for (const Property &entry : entries) {
    const StringRef *key = llvm::find(keys, entry.key);
    if (key == std::end(keys))
      return failure("external data has the unknown key " + quoted(entry.key) +
                     "; known: location, offset, length, checksum");
    auto &value = values[key - keys];
    if (value)
      return failure("external data has the key " + quoted(entry.key) + " twice");
    value = entry.value;
  }
  if (!values[0])
    return failure("external data has no location");
  uint64_t numbers[2] = {0, bytes};
  for (int i = 0; i < 2; ++i) {
    if (!values[1 + i])
      continue;
    std::optional<uint64_t> number = parseDecimal(*values[1 + i]);
    if (!number)
      return failure("external data " + keys[1 + i] + " " + quoted(*values[1 + i]) +
                     " is not a decimal number from 0 to 9223372036854775807");
    numbers[i] = *number;
  }
  auto [offset, length] = numbers;
  if (length != bytes)
    return failure("external data length is " + Twine(length) + ", its type and dims need " + Twine(bytes));
  Expected<uint32_t> file = open(*values[0]);
  if (!file)
    return failure("external data location " + quoted(*values[0]) + " " + toString(file.takeError()));
  uint64_t size = (*files)[*file].size;
  if (length > size || offset > size - length) {
    StringRef content((*files)[*file].data, size);
    return failure("external data file " + quoted(*values[0]) + " is too short: offset " + Twine(offset) +
                   " + length " + Twine(length) + " is needed, it has " + Twine(size) + " bytes" +
                   (content.starts_with("version https://git-lfs") ? " (a Git LFS pointer: run 'git lfs pull')" : ""));
  }
  return DataRef{*file, nullptr, offset, length};
}

} // namespace farskip::onnx::reader
