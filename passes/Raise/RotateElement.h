// One element of a head turned by the angle of its position.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RAISE_ROTATEELEMENT_H
#define FARSKIP_PASSES_RAISE_ROTATEELEMENT_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace farskip {

/// Element `d` of a head after rotation: d and its partner are a pair, either neighbours (`interleaved`) or `half`
/// apart. Elements from 2·half on stay. `load` gives an element of the head, `table` cosine and sine of an angle's
/// number. Computed in f32 where the head is narrower, rounded once.
mlir::Value rotateElement(mlir::OpBuilder &b, mlir::Location loc, mlir::Value d, mlir::Value half, bool interleaved,
                          llvm::function_ref<mlir::Value(mlir::Value)> load,
                          llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::Value)> table);

} // namespace farskip

#endif
