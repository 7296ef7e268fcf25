// Protobuf's wire format, the writing side.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Export/WireWriter.h"
#include "llvm/ADT/bit.h"

using namespace farskip;

void WireWriter::raw(uint64_t value) {
  for (; value > 0x7f; value >>= 7)
    own += static_cast<char>(value | 0x80);
  own += static_cast<char>(value);
}

void WireWriter::header(uint32_t field, uint64_t length) {
  raw(field << 3 | 2);
  raw(length);
}

void WireWriter::varint(uint32_t field, uint64_t value) {
  raw(field << 3);
  raw(value);
}

void WireWriter::fixed32(uint32_t field, float value) {
  raw(field << 3 | 5);
  auto bits = llvm::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8)
    own += static_cast<char>(bits >> shift);
}

void WireWriter::bytes(uint32_t field, llvm::StringRef value) {
  header(field, value.size());
  own += value;
}

void WireWriter::reference(uint32_t field, llvm::StringRef value) {
  header(field, value.size());
  references.push_back({own.size(), value});
  referenced += value.size();
}

void WireWriter::message(uint32_t field, const WireWriter &value) {
  header(field, value.size());
  for (const Reference &reference : value.references)
    references.push_back({own.size() + reference.position, reference.value});
  own += value.own;
  referenced += value.referenced;
}

llvm::Error WireWriter::write(llvm::function_ref<llvm::Error(llvm::StringRef)> sink) const {
  llvm::StringRef rest(own);
  size_t done = 0;
  for (const Reference &reference : references) {
    if (llvm::Error error = sink(rest.slice(done, reference.position)))
      return error;
    if (llvm::Error error = sink(reference.value))
      return error;
    done = reference.position;
  }
  return sink(rest.substr(done));
}
