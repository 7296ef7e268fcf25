// Errors of the run-time.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Error.h"
#include <cstdio>
#include <unistd.h>

namespace farskip::runtime {

std::string escaped(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size() && i < 80; ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != 0x7f) {
      result += text[i];
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", c);
    result += code;
  }
  return text.size() > 80 ? result + "..." : result;
}

void printError(const std::string &message) {
  std::string line = "error: ";
  for (char c : message)
    line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  line += '\n';
  // A progress line may stand there.
  std::fputs(((::isatty(STDERR_FILENO) ? "\r\033[K" : "") + line).c_str(), stderr);
}

} // namespace farskip::runtime
