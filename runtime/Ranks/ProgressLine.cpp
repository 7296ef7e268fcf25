// How far a long run has come, on a terminal.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/ProgressLine.h"
#include "runtime/Transport/Futex.h"
#include <cstdio>

namespace farskip::runtime {

static constexpr int64_t kPauseNs = 200'000'000;

ProgressLine::ProgressLine(const char *what, int64_t total, bool quiet)
    : what(what), total(total), nextNs(nowNs() + kPauseNs), silent(quiet || !::isatty(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() {
  if (shown)
    std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(int64_t done) {
  if (silent || nowNs() < nextNs)
    return;
  nextNs = nowNs() + kPauseNs;
  shown = true;
  std::fprintf(stderr, "\r\033[K%s %lld of %lld", what, static_cast<long long>(done), static_cast<long long>(total));
}

} // namespace farskip::runtime
