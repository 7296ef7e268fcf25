// The command line of a compiled program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Model/Description.h"
#include <map>

namespace farskip::runtime {

struct ProgramOptions {
  std::map<std::string, std::string> inputs, outputs; ///< name to file
  std::string inputDir, outputDir, trace;
  std::string transport; ///< shm, tcp; empty: by the environment
  std::optional<std::string> prompt, promptText;
  int64_t generate = 0, repeat = 1, threads = 0;
  enum Format { None, Table, Json };
  Format profile = None, describe = None;
  bool help = false, version = false;
};

/// A usage error names what is valid. `NAME=FILE` takes the longest declared
/// name.
Status parseProgramOptions(int argc, char **argv, const Description &description, ProgramOptions &options);

const char *programHelp();

} // namespace farskip::runtime
