// The Gelu of one number.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RAISE_GELU_H
#define FARSKIP_PASSES_RAISE_GELU_H

#include "mlir/IR/Builders.h"

namespace farskip {

/// x · Φ(x) of an f32 or f64 value, by the error function or by the approximation with tanh.
mlir::Value gelu(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, bool tanh);

} // namespace farskip

#endif
