// The kernel that computes attention on the CPU.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_LOWER_ATTENTIONKERNEL_H
#define FARSKIP_PASSES_LOWER_ATTENTIONKERNEL_H

#include "passes/Lower/Passes.h"

namespace farskip {

/// Query rows of one task: their scores and sums stay in the first cache level beside a block of keys.
inline constexpr int64_t kAttentionRows = 48;

/// A private function (begin, end, operands of `op`) that computes the tasks [begin, end): a task is a block of
/// `kAttentionRows` query rows of one sequence and key head. `op` is on buffers.
mlir::OwningOpRef<mlir::func::FuncOp> buildAttentionKernel(moe::AttentionOp op);

/// How many tasks there are: an index value at the builder's place.
mlir::Value attentionTasks(mlir::OpBuilder &builder, moe::AttentionOp op);

} // namespace farskip

#endif
