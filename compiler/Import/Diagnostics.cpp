// Escaping and error construction for the model reader.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Diagnostics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;

namespace farskip::onnx::reader {

Error failure(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

/// Length of the printable UTF-8 sequence at the start of `text`, 0 where there is none.
static size_t printableSequence(StringRef text) {
  unsigned char lead = text[0];
  if (lead < 0x80)
    return lead >= 0x20 && lead != 0x7f && lead != '\\' ? 1 : 0;
  size_t length = getNumBytesForUTF8(lead);
  if (length > text.size())
    return 0;
  const auto *bytes = reinterpret_cast<const UTF8 *>(text.data());
  if (!isLegalUTF8Sequence(bytes, bytes + length))
    return 0;
  if (length == 2 && lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0)
    return 0; // C1 control characters
  if (length == 3 && lead == 0xe2) {
    unsigned char second = text[1], third = text[2];
    bool bidi = (second == 0x80 && third >= 0x8b && third <= 0xaf) || (second == 0x81 && third >= 0xa0);
    if (bidi)
      return 0;
  }
  return length;
}

std::string escaped(StringRef text, size_t limit) {
  std::string out;
  size_t total = text.size();
  while (!text.empty()) {
    if (out.size() >= limit)
      return out + "... (" + utostr(total) + " bytes)";
    size_t length = printableSequence(text);
    if (length) {
      out += text.take_front(length);
      text = text.drop_front(length);
      continue;
    }
    unsigned char byte = text[0];
    if (byte == '\\')
      out += "\\\\";
    else if (byte == '\n')
      out += "\\n";
    else if (byte == '\t')
      out += "\\t";
    else {
      out += "\\x";
      out += hexdigit(byte >> 4, true);
      out += hexdigit(byte & 15, true);
    }
    text = text.drop_front();
  }
  return out;
}

std::string quoted(StringRef text, size_t limit) { return "'" + escaped(text, limit) + "'"; }

} // namespace farskip::onnx::reader
