// Tags, varints, lengths and groups of protobuf's wire format.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/WireFormat.h"

#include "compiler/Import/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace farskip::onnx::reader {

bool FieldReader::readVarint(const char *&at, const char *end, uint64_t &value) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 70 && at != end; shift += 7) {
    uint64_t byte = static_cast<unsigned char>(*at++);
    if (shift == 63 && byte > 1)
      return false;
    result |= (byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      value = result;
      return true;
    }
  }
  return false;
}

bool FieldReader::readTag(uint64_t &tag) {
  if (!readVarint(at, end, tag) || tag > UINT32_MAX)
    return fail("a malformed field tag");
  if ((tag >> 3) == 0)
    return fail("field number 0");
  return true;
}

bool FieldReader::readPayload(uint64_t tag) {
  switch (tag & 7) {
  case 0:
    return readVarint(at, end, value) || fail("a malformed varint");
  case 1:
    if (end - at < 8)
      return fail("a fixed64 field that is cut short");
    value = support::endian::read64le(at);
    at += 8;
    return true;
  case 2: {
    uint64_t length;
    if (!readVarint(at, end, length))
      return fail("a malformed length");
    if (length > static_cast<uint64_t>(end - at))
      return fail("a length that is more than what follows (is the file cut short?)");
    payload = StringRef(at, length);
    at += length;
    return true;
  }
  case 5:
    if (end - at < 4)
      return fail("a fixed32 field that is cut short");
    value = support::endian::read32le(at);
    at += 4;
    return true;
  default:
    return fail("an unknown wire type");
  }
}

bool FieldReader::skipGroup(uint64_t startTag) {
  constexpr size_t maxDepth = 100;
  SmallVector<uint64_t, 8> open = {startTag >> 3};
  while (!open.empty()) {
    uint64_t tag;
    if (at == end)
      return fail("a group that is not closed");
    if (!readTag(tag))
      return false;
    if ((tag & 7) == 3) {
      if (open.size() == maxDepth)
        return fail("groups nested more than 100 deep");
      open.push_back(tag >> 3);
    } else if ((tag & 7) == 4) {
      if (open.pop_back_val() != tag >> 3)
        return fail("a group that is closed by another one's end");
    } else if (!readPayload(tag)) {
      return false;
    }
  }
  return true;
}

bool FieldReader::next() {
  if (at == end || problem)
    return false;
  uint64_t tag;
  if (!readTag(tag))
    return false;
  currentKey = tag;
  return (tag & 7) == 3 ? skipGroup(tag) : readPayload(tag);
}

Error FieldReader::takeError(StringRef message) const {
  if (!problem)
    return Error::success();
  return failure("malformed protobuf: " + Twine(problem) + " in a " + message);
}

} // namespace farskip::onnx::reader
