// Which layers an option value such as `last:75%` names.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RESIDUAL_SELECTION_H
#define FARSKIP_PASSES_RESIDUAL_SELECTION_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace farskip {

/// `none`, `all`, `first:N`, `last:N`, `first:P%`, `last:P%` (rounded up), or a
/// list such as `0,2,5-9`, of `count` layers. Sorted, each once. An error names
/// the valid forms or the layer that does not exist.
llvm::Expected<llvm::SmallVector<int64_t>> parseSelection(llvm::StringRef text, int64_t count);

/// Checks the form alone, without knowing the number of layers.
llvm::Error checkSelection(llvm::StringRef text);

} // namespace farskip

#endif
