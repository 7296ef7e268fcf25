// What a caller of the model reader may choose, and the limits that hold for every model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace farskip::onnx::reader {

struct ImportOptions {
  /// Folders beside the model's own in which external data may lie (--allow-external-dir=DIR, repeatable).
  std::vector<std::string> allowedExternalDirs;
  /// Also refuse external data files with more than one hard link (--strict-external-data).
  bool strictExternalData = false;

  // Limits. Each is named, with its value, by the error of a model that exceeds it.
  uint64_t maxModelBytes = (uint64_t{1} << 31) - 1;     ///< protobuf's own limit
  uint64_t maxNodes = 1000000;                          ///< in the file, and again after inlining
  unsigned maxGraphNesting = 32;                        ///< graphs within graphs, the main graph counts as 1
  unsigned maxFunctionDepth = 100;                      ///< functions that call functions
  unsigned maxRank = 64;                                ///< dims of a tensor
  unsigned maxAttributes = 256;                         ///< of one node or function
  uint64_t maxBoolBytes = uint64_t{256} << 20;          ///< all bool tensors together (their values are checked)
  uint64_t maxDenseSparseBytes = uint64_t{64} << 20;    ///< all densified sparse tensors together
  uint64_t maxStructureBytes = (uint64_t{3} << 30) / 2; ///< everything but mapped files
};

} // namespace farskip::onnx::reader
