// Writes protobuf messages; large payloads stay where they are until the bytes are asked for.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_EXPORT_WIREWRITER_H
#define FARSKIP_COMPILER_EXPORT_WIREWRITER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace farskip {

/// One message, field by field in the order of the calls.
class WireWriter {
public:
  void varint(uint32_t field, uint64_t value);
  void fixed32(uint32_t field, float value);
  void bytes(uint32_t field, llvm::StringRef value);
  /// As `bytes`, without a copy: `value` must live until `write`.
  void reference(uint32_t field, llvm::StringRef value);
  void message(uint32_t field, const WireWriter &value);

  /// In bytes.
  uint64_t size() const { return own.size() + referenced; }
  /// Hands the message to `sink` piece by piece; ends with the sink's first error.
  llvm::Error write(llvm::function_ref<llvm::Error(llvm::StringRef)> sink) const;

private:
  /// Bytes of someone else's, to stand before `own[position]`.
  struct Reference {
    size_t position;
    llvm::StringRef value;
  };
  void raw(uint64_t value);
  void header(uint32_t field, uint64_t length);

  std::string own;
  std::vector<Reference> references;
  uint64_t referenced = 0;
};

} // namespace farskip

#endif
