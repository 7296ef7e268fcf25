// Errors of the run-time: one line on stderr and an exit code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace farskip::runtime {

enum ExitCode {
  kOk = 0,
  kInputError = 1,
  kUsage = 64,
  kInternal = 70,
  kIo = 74,
  kPeerFailed = 75,
  kDeadline = 124,
  kInterrupted = 130
};

/// Failures between ranks, for which the records of what each rank did are of use.
inline bool wantsRecords(int code) { return code == kInternal || code == kPeerFailed || code == kDeadline; }

/// What went wrong, and with which exit code the program ends; `code` 0 is
/// success.
struct Status {
  int code = kOk;
  std::string message;
  bool ok() const { return code == kOk; }
};

inline Status failure(int code, std::string message) { return {code, std::move(message)}; }

/// `text` with control characters and invalid bytes as \xNN, cut after 80
/// bytes, for names in messages.
std::string escaped(const std::string &text);

/// Prints `error: message` on one line.
void printError(const std::string &message);

} // namespace farskip::runtime
