// How far a long run has come, on a terminal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace farskip::runtime {

/// A line on stderr that is written over and over, at most five times a second, and is gone at the end. Silent where
/// stderr is no terminal.
class ProgressLine {
public:
  ProgressLine(const char *what, int64_t total, bool quiet);
  ~ProgressLine();
  void show(int64_t done);

private:
  const char *what;
  int64_t total, nextNs;
  bool silent, shown = false;
};

} // namespace farskip::runtime
