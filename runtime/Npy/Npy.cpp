// Reading .npy files.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Npy/Npy.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace farskip::runtime {

namespace {

constexpr size_t kMaxHeader = 64 << 10;

/// A reader of the one-line Python dictionary that a header is.
class HeaderParser {
public:
  explicit HeaderParser(const std::string &text) : text(text) {}

  Status parse(NpyHeader &header) {
    bool descr = false, order = false, shape = false;
    if (!eat('{'))
      return bad("is not a dictionary");
    while (!eat('}')) {
      std::string key;
      if (!string(key) || !eat(':'))
        return bad("has no key");
      if (key == "descr" && !descr) {
        descr = string(header.descr);
        if (!descr)
          return bad("has a 'descr' that is not one string (structured types "
                     "are not supported)");
      } else if (key == "fortran_order" && !order) {
        order = boolean(header.fortranOrder);
        if (!order)
          return bad("has a 'fortran_order' that is neither True nor False");
      } else if (key == "shape" && !shape) {
        shape = tuple(header.shape);
        if (!shape)
          return bad("has a 'shape' that is no tuple of non-negative decimal numbers");
      } else {
        return bad("has the key '" + escaped(key) + "' twice or it is not known");
      }
      if (!eat(',') && !peek('}'))
        return bad("is cut");
    }
    skip();
    if (at != text.size())
      return bad("has something behind the dictionary");
    if (!descr || !order || !shape)
      return bad("lacks one of descr, fortran_order, shape");
    return {};
  }

private:
  static Status bad(const std::string &what) { return failure(kInputError, "the .npy header " + what); }
  void skip() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }
  bool peek(char c) {
    skip();
    return at < text.size() && text[at] == c;
  }
  bool eat(char c) {
    if (!peek(c))
      return false;
    ++at;
    return true;
  }
  bool string(std::string &value) {
    char quote = peek('\'') ? '\'' : '"';
    if (!eat(quote))
      return false;
    size_t end = text.find(quote, at);
    if (end == std::string::npos)
      return false;
    value = text.substr(at, end - at);
    at = end + 1;
    return true;
  }
  bool boolean(bool &value) {
    skip();
    value = text.compare(at, 4, "True") == 0;
    bool no = text.compare(at, 5, "False") == 0;
    at += value ? 4 : no ? 5 : 0;
    return value || no;
  }
  bool tuple(std::vector<int64_t> &values) {
    if (!eat('('))
      return false;
    while (!eat(')')) {
      skip();
      size_t end = text.find_first_not_of("0123456789", at);
      if (end == std::string::npos || end == at || end - at > 18)
        return false;
      values.push_back(std::stoll(text.substr(at, end - at)));
      at = end;
      if (!eat(',') && !peek(')'))
        return false;
    }
    return true;
  }

  const std::string &text;
  size_t at = 0;
};

/// Bytes of one element of a known type; 0 for others.
int64_t itemBytes(const std::string &kind) {
  static const char *known[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "V2"};
  for (const char *name : known)
    if (kind == name)
      return name[1] - '0';
  return 0;
}

Status normalizeDescr(NpyHeader &header) {
  const std::string given = header.descr;
  char order = given.empty() ? 0 : given[0];
  std::string kind = given.empty() ? "" : given.substr(1);
  header.itemBytes = itemBytes(kind);
  if (!header.itemBytes || !std::strchr("<>=|", order) || !order)
    return failure(kInputError, "the .npy type '" + escaped(given) + "' is not supported");
  header.bigEndian = order == '>' && header.itemBytes > 1;
  header.descr = (header.itemBytes == 1 ? "|" : "<") + kind;
  return {};
}

Status ioError(const std::string &what, const std::string &path) {
  return failure(kIo, what + " '" + escaped(path) + "': " + std::strerror(errno));
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};

Status readExactly(int fd, char *to, uint64_t bytes, const std::string &path) {
  while (bytes) {
    ssize_t count = ::read(fd, to, std::min<uint64_t>(bytes, 1 << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return ioError("cannot read", path);
    if (count == 0)
      return failure(kInputError, "'" + escaped(path) + "' ended early");
    to += count;
    bytes -= count;
  }
  return {};
}

void swapBytes(char *data, int64_t elements, int64_t width) {
  for (int64_t i = 0; i < elements; ++i)
    std::reverse(data + i * width, data + (i + 1) * width);
}

/// Copies Fortran order to row-major order.
void transpose(const char *from, char *to, const NpyHeader &header) {
  size_t rank = header.shape.size();
  std::vector<int64_t> index(rank), stride(rank);
  int64_t step = 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    stride[axis] = step;
    step *= header.shape[axis];
  }
  for (int64_t i = 0, count = header.elements(); i < count; ++i) {
    int64_t source = 0;
    for (size_t axis = 0; axis < rank; ++axis)
      source += index[axis] * stride[axis];
    std::memcpy(to + i * header.itemBytes, from + source * header.itemBytes, header.itemBytes);
    for (size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < header.shape[axis])
        break;
      index[axis] = 0;
    }
  }
}

} // namespace

Status parseNpyHeader(const std::string &data, uint64_t fileBytes, NpyHeader &header) {
  if (data.size() < 10 || data.compare(0, 6, "\x93NUMPY") != 0)
    return failure(kInputError, "not an .npy file");
  auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(data[i])); };
  unsigned version = byte(6);
  if (version < 1 || version > 3)
    return failure(kInputError, ".npy version " + std::to_string(version) + " is not known (1 to 3 are)");
  size_t start = version == 1 ? 10 : 12;
  if (data.size() < start)
    return failure(kInputError, "the .npy header is cut");
  uint64_t length = version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > kMaxHeader)
    return failure(kInputError, "the .npy header has " + std::to_string(length) + " bytes, at most " +
                                    std::to_string(kMaxHeader) + " are read");
  if (data.size() < start + length)
    return failure(kInputError, "the .npy header is cut");
  std::string text = data.substr(start, length);
  if (Status status = HeaderParser(text).parse(header); !status.ok())
    return status;
  if (Status status = normalizeDescr(header); !status.ok())
    return status;
  if (header.shape.size() > 64)
    return failure(kInputError, "the .npy shape has " + std::to_string(header.shape.size()) + " axes, at most 64 are");
  int64_t bytes = header.itemBytes;
  bool empty = std::count(header.shape.begin(), header.shape.end(), 0) > 0;
  for (int64_t extent : header.shape)
    if (!empty && __builtin_mul_overflow(bytes, extent, &bytes))
      return failure(kInputError, "the .npy shape is too large");
  bytes = empty ? 0 : bytes;
  header.dataOffset = start + length;
  uint64_t have = fileBytes - header.dataOffset;
  if (have != static_cast<uint64_t>(bytes))
    return failure(kInputError, "the .npy file holds " + std::to_string(have) + " bytes of data, its shape needs " +
                                    std::to_string(bytes));
  return {};
}

Status readNpyHeader(const std::string &path, NpyHeader &header) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0)
    return ioError("cannot open", path);
  struct stat info;
  if (::fstat(file.fd, &info))
    return ioError("cannot read", path);
  if (!S_ISREG(info.st_mode))
    return failure(kIo, "'" + escaped(path) + "' is not a regular file");
  std::string start(std::min<uint64_t>(info.st_size, kMaxHeader + 12), '\0');
  if (Status status = readExactly(file.fd, start.data(), start.size(), path); !status.ok())
    return status;
  Status status = parseNpyHeader(start, info.st_size, header);
  if (!status.ok())
    status.message = "'" + escaped(path) + "': " + status.message;
  return status;
}

Status readNpyData(const std::string &path, const NpyHeader &header, void *destination) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0 || ::lseek(file.fd, header.dataOffset, SEEK_SET) < 0)
    return ioError("cannot read", path);
  char *to = static_cast<char *>(destination);
  int64_t elements = header.elements(), bytes = elements * header.itemBytes;
  bool moves = header.fortranOrder && header.shape.size() > 1;
  std::string buffer(moves ? bytes : 0, '\0');
  char *target = moves ? buffer.data() : to;
  if (Status status = readExactly(file.fd, target, bytes, path); !status.ok())
    return status;
  if (header.bigEndian)
    swapBytes(target, elements, header.itemBytes);
  if (moves)
    transpose(target, to, header);
  if (header.descr == "|b1")
    for (int64_t i = 0; i < elements; ++i)
      to[i] = to[i] != 0;
  return {};
}

} // namespace farskip::runtime
