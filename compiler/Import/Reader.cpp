// The steps of reading a model, in order.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Reader.h"

#include "compiler/Import/Check.h"
#include "compiler/Import/ExternalData.h"
#include "compiler/Import/Inline.h"
#include "compiler/Import/Parser.h"
#include "compiler/Import/Sort.h"
#include "compiler/Import/Upgrade.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

using namespace llvm;

namespace farskip::onnx::reader {

/// Opens the .onnx without blocking; a regular file of at most the limit's size.
static Expected<UniqueFd> openModel(const std::string &path, const ImportOptions &options, uint64_t &size) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (!fd || fstat(fd.get(), &status))
    return failure(Twine("cannot be opened: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return failure(S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file");
  size = static_cast<uint64_t>(status.st_size);
  if (size == 0)
    return failure("is empty");
  if (size > options.maxModelBytes)
    return failure("has " + Twine(size) + " bytes; the limit is " + Twine(options.maxModelBytes) +
                   " (larger models keep their weights in external data)");
  return std::move(fd);
}

/// What the bytes look like when they are no model, empty when nothing comes to mind.
static StringRef fileHint(StringRef bytes) {
  if (bytes.starts_with("version https://git-lfs"))
    return "it is a Git LFS pointer: run 'git lfs pull' to get the model";
  if (bytes.starts_with("\x7f"
                        "ELF"))
    return "it is an ELF file";
  if (bytes.starts_with("\x1f\x8b"))
    return "it is compressed with gzip";
  if (bytes.starts_with("PK\x03\x04"))
    return "it is a zip archive";
  if (bytes.ltrim().starts_with("{") || bytes.starts_with("<"))
    return "it is text";
  return {};
}

static Error readInto(Model &model, const std::string &path, const ImportOptions &options, DiagnosticSink sink) {
  uint64_t size = 0;
  Expected<UniqueFd> fd = openModel(path, options, size);
  if (!fd)
    return fd.takeError();
  std::string realPath = canonicalPath(fd->get());
  Expected<uint32_t> file = model.files.map(fd->get(), size, realPath.empty() ? path : realPath);
  if (!file)
    return file.takeError();
  Expected<ExternalData> externalData = ExternalData::create(model.files, path, realPath, options);
  if (!externalData)
    return externalData.takeError();
  StringRef bytes(model.files[*file].data, size);
  if (Error error = Parser(model, *externalData, options).parse(*file)) {
    StringRef hint = fileHint(bytes);
    if (hint.empty())
      return error;
    consumeError(std::move(error));
    return failure("is not an ONNX model: " + hint);
  }
  if (Error error = checkModel(model, sink))
    return error;
  FreshNames names(model);
  if (Error error = inlineFunctions(model, names, options))
    return error;
  if (Error error = sortModel(model, sink))
    return error;
  return upgradeModel(model, names);
}

Expected<Model> readModel(StringRef path, const ImportOptions &options, DiagnosticSink sink) {
  Model model(options.maxStructureBytes);
  if (Error error = readInto(model, path.str(), options, sink))
    return failure(escaped(path, 256) + ": " + toString(std::move(error)));
  return std::move(model);
}

} // namespace farskip::onnx::reader
