// Ending the program on SIGINT and SIGTERM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace farskip::runtime {

/// From here on SIGINT and SIGTERM end the process with exit code 130 and leave no temporary file; its ranks end with
/// it. Writes to a closed pipe, and beyond a limit on file sizes, become errors.
void endCleanlyOnSignals();

} // namespace farskip::runtime
