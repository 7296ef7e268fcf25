// Messages of the model reader: errors are llvm::Error, everything milder goes to a sink.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace farskip::onnx::reader {

enum class Severity { Note, Warning };

/// Something the user should know that does not stop the import. The message has neither the
/// severity nor the file name in front of it.
struct Diagnostic {
  Severity severity;
  std::string message;
};

using DiagnosticSink = llvm::function_ref<void(const Diagnostic &)>;

/// An error with this text (lower case, no full stop, no "error: " in front).
llvm::Error failure(const llvm::Twine &message);

/// `text` without surrounding quotes: control characters, ANSI escapes, bidirectional overrides and invalid UTF-8
/// as \xNN; cut after `limit` bytes with the full length behind it. Model text is only ever printed through this.
std::string escaped(llvm::StringRef text, size_t limit = 80);

/// 'escaped text', for names and string values in messages.
std::string quoted(llvm::StringRef text, size_t limit = 80);

} // namespace farskip::onnx::reader
