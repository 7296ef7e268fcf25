// Ending the program on SIGINT and SIGTERM.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Main/Interrupt.h"
#include "runtime/Npy/Npy.h"
#include <csignal>
#include <unistd.h>

namespace farskip::runtime {

static void interrupted(int) {
  OutputFiles::removeTemporaries();
  ::_exit(kInterrupted);
}

void endCleanlyOnSignals() {
  std::signal(SIGINT, interrupted);
  std::signal(SIGTERM, interrupted);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace farskip::runtime
