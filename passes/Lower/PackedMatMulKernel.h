// The kernel that multiplies rows with packed weights on the CPU.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_LOWER_PACKEDMATMULKERNEL_H
#define FARSKIP_PASSES_LOWER_PACKEDMATMULKERNEL_H

#include "passes/Lower/Passes.h"

namespace farskip {

/// A private function (begin, end, operands of `op`) that computes the columns [begin, end) of the result. `op` is on
/// buffers.
mlir::OwningOpRef<mlir::func::FuncOp> buildPackedMatMulKernel(moe::PackedMatMulOp op);

} // namespace farskip

#endif
