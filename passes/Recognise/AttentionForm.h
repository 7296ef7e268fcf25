// Attention that exporters spell in small operators.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_ATTENTIONFORM_H
#define FARSKIP_PASSES_RECOGNISE_ATTENTIONFORM_H

#include "dialects/Moe/MoeOps.h"
#include "passes/Recognise/MaskReader.h"

namespace farskip {

/// softmax(scale · q · kᵀ + mask) · v as it is spelled.
struct SpelledAttention {
  mlir::Value q, k, v; ///< k is transposed: [batch, heads, size, keys]
  double scale = 1, softcap = 0;
  std::optional<SpelledMask> mask;
  mlir::Value sinks;    ///< one number per head
  bool cleaned = false; ///< NaN after softmax became 0
};

class AttentionReader {
public:
  explicit AttentionReader(SymbolicShapes &shapes) : reader(shapes) {}

  /// Whether `product` is probabilities times values.
  std::optional<SpelledAttention> read(onnx::MatMulOp product);
  /// Builds the operation. Null when a proof is missing that the shapes or the mask fit.
  moe::AttendOp build(const SpelledAttention &attention, GraphBuilder &build);
  /// Whether `value` is true for exactly the rows that see no key, one number per row, `mask` being true for what is
  /// seen.
  bool seesNothing(mlir::Value value, const SpelledMask &mask);

  GraphReader reader;

private:
  bool readScores(mlir::Value value, SpelledAttention &to);
  bool readProduct(onnx::MatMulOp product, SpelledAttention &to);
  mlir::Value readSinks(mlir::Value value);
  mlir::Value untransposed(mlir::Value keys, GraphBuilder &build);
  mlir::Value unrepeated(mlir::Value tensor, GraphBuilder &build);
};

} // namespace farskip

#endif
