// Warnings for exports that computed the traced input's routing and nothing else.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_DIAGNOSEEXPORTS_H
#define FARSKIP_PASSES_RECOGNISE_DIAGNOSEEXPORTS_H

#include "dialects/Shape/SymbolicShapes.h"

namespace farskip {

/// Warns, at the node, where a trace has frozen what depends on the tokens: experts that no traced token chose are
/// missing, the list of chosen experts has a fixed length, the sorted tokens are split into fixed parts, or the results
/// of a token's experts replace each other instead of being added.
void diagnoseExports(mlir::Block &body, SymbolicShapes &shapes);

} // namespace farskip

#endif
