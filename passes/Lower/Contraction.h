// Which linalg operations are matrix products that the generated kernels compute.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_LOWER_CONTRACTION_H
#define FARSKIP_PASSES_LOWER_CONTRACTION_H

#include "passes/Lower/Passes.h"

namespace farskip {

/// out[batch…, m, n] += a[…] · b[…] over k, a chain of FMAs in f32: the loops are (batch…, m, n, k), out has all of
/// them but k in order. Factors may be of narrower floats.
struct Contraction {
  mlir::linalg::GenericOp op;
  mlir::AffineMap a, b; ///< projected permutations of the loops
  int64_t m, n, k;      ///< the positions of the three loops

  /// Operation `op`, when it is one: n is not in a, m is not in b, k is in both.
  static std::optional<Contraction> match(mlir::Operation *op);
};

} // namespace farskip

#endif
