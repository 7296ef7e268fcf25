// The kernels that compute matrix products on the CPU.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_LOWER_PRODUCTKERNEL_H
#define FARSKIP_PASSES_LOWER_PRODUCTKERNEL_H

#include "passes/Lower/Contraction.h"

namespace farskip {

/// What a kernel of products looks like: everything else is an argument, so that layers share it.
struct ProductShape {
  int64_t lanes = 16;   ///< f32 in a vector register
  int64_t columns = 64; ///< of a panel: a multiple of `lanes`
  mlir::MemRefType x, w, out;
  /// The axes of x, w and out as loops (batch…, m, n, k).
  mlir::AffineMap xMap, wMap, outMap;
  bool packed = true;      ///< w is [panels, k, columns]; else any matrix, packed by the kernel block by block
  bool accumulate = false; ///< starts from what is in out
};

/// A private function (begin, end, x, w, out) that computes the tasks [begin, end).
mlir::OwningOpRef<mlir::func::FuncOp> buildProductKernel(mlir::MLIRContext *context, const ProductShape &shape);

/// How many tasks there are and how many a thread should have at least: index values at the builder's place.
std::pair<mlir::Value, mlir::Value> productTasks(mlir::OpBuilder &builder, const ProductShape &shape, mlir::Value x,
                                                 mlir::Value w, mlir::Value out);

} // namespace farskip

#endif
