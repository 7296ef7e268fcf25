// One compilation, from the command line to the files.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_DRIVER_DRIVER_H
#define FARSKIP_COMPILER_DRIVER_DRIVER_H

#include "compiler/Driver/Options.h"

namespace farskip {

/// Compiles by `options`; prints diagnostics to stderr, one `error: ` line at most. Returns the exit code.
int runDriver(const DriverOptions &options);

} // namespace farskip

#endif
