// A strict reader of protobuf's wire format over bytes that stay where they are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace farskip::onnx::reader {

/// Field number and wire type as one number, for switch statements.
constexpr uint64_t varintField(uint32_t number) { return number << 3 | 0; }
constexpr uint64_t fixed64Field(uint32_t number) { return number << 3 | 1; }
constexpr uint64_t bytesField(uint32_t number) { return number << 3 | 2; }
constexpr uint64_t fixed32Field(uint32_t number) { return number << 3 | 5; }

/// Walks over the fields of one message.
///
///     FieldReader fields(bytes);
///     while (fields.next())
///       switch (fields.key()) { case bytesField(1): use(fields.bytes()); }
///     return fields.takeError("NodeProto");
///
/// A field that the switch does not name, by number or by wire type, is thereby skipped, as protobuf says. Groups are
/// skipped whole. Malformed bytes end the loop with an error.
class FieldReader {
public:
  explicit FieldReader(llvm::StringRef message) : at(message.data()), end(message.data() + message.size()) {}

  bool next();
  uint64_t key() const { return currentKey; }
  uint64_t varint() const { return value; } ///< also fixed64 and fixed32
  int64_t signedVarint() const { return static_cast<int64_t>(value); }
  llvm::StringRef bytes() const { return payload; }

  /// Success, or what is wrong with the bytes of `message`.
  llvm::Error takeError(llvm::StringRef message) const;

  /// Reads one varint of at most 10 bytes and 64 bits at `at`; false when it is malformed or cut.
  static bool readVarint(const char *&at, const char *end, uint64_t &value);

private:
  bool fail(const char *what) {
    problem = what;
    return false;
  }
  bool readTag(uint64_t &tag);
  bool readPayload(uint64_t tag);
  bool skipGroup(uint64_t startTag);

  const char *at, *end;
  uint64_t currentKey = 0, value = 0;
  llvm::StringRef payload;
  const char *problem = nullptr;
};

} // namespace farskip::onnx::reader
