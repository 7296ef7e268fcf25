// Writing the weights file in the order in which the kernels read it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_COMPILER_DRIVER_PACKEDWEIGHTS_H
#define FARSKIP_COMPILER_DRIVER_PACKEDWEIGHTS_H

#include "passes/Lower/Passes.h"
#include "llvm/Support/Error.h"

namespace farskip {

/// Hands `bytes`, an entry's bytes as the model has them, to `write` in the order of the weights file, a few panels at
/// a time: memory does not grow with the weight.
llvm::Error writeWeight(const WeightEntry &entry, llvm::ArrayRef<char> bytes,
                        llvm::function_ref<llvm::Error(llvm::ArrayRef<char>)> write);

} // namespace farskip

#endif
