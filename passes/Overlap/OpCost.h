// How long an operation takes, estimated.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_OVERLAP_OPCOST_H
#define FARSKIP_PASSES_OVERLAP_OPCOST_H

#include "mlir/IR/Operation.h"

namespace farskip {

/// What a rank computes with, and how many tokens it is assumed to have.
struct CostModel {
  double flops, memoryBytes, linkBytes, latency;
  int64_t tokens, ranks;

  /// Seconds of the processor. An unknown extent counts as the tokens; a loop over experts as one run of its body over
  /// all rows.
  double seconds(mlir::Operation *op) const;
  /// Seconds of the link for an exchange or the start of one; zero for anything else.
  double transfer(mlir::Operation *op) const;
};

} // namespace farskip

#endif
