// Moves the computation that one expert does on its rows into the region of a moe.experts operation.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RECOGNISE_ROWTRACER_H
#define FARSKIP_PASSES_RECOGNISE_ROWTRACER_H

#include "passes/Recognise/ExpertForms.h"
#include "passes/Recognise/GraphBuilder.h"
#include <functional>

namespace farskip {

/// What an axis of a value in the model is to the rows of the region. Axes that are no feature number the rows: all
/// pairs of a token and a slot (Pair = Token × Slot), all pairs of an expert and a token (ExpertToken), a token's batch
/// and place, or the rows that one expert works on (Pair, for the lanes of a loop).
enum class Axis : char { Unit, Feature, Pair, Token, Slot, Expert, ExpertToken, Batch, Sequence };
using Axes = llvm::SmallVector<Axis>;

/// A value of the model as the region has it: [rows, features…], or [features…] when it is an expert's parameter.
/// Axes of one element are dropped.
struct RowValue {
  mlir::Value value;
  Axes axes; ///< of the value in the model
  bool rows;
};

/// Traces values of the model back to the rows and the parameters that an expert reads, and rebuilds in a region what
/// lies between. Values are traced in lanes: one per expert where the model spells every expert, which must then be
/// spelled alike, or a single one where the model computes all experts at once. Only operations that work on each row
/// for itself are traced; anything else fails.
class RowTracer {
public:
  /// What a form says of a value before it is traced through.
  struct Leaf {
    bool known = false;
    std::optional<RowValue> value; ///< known and absent: give up
    static Leaf unknown() { return {}; }
    static Leaf fail() { return {true, std::nullopt}; }
  };

  RowTracer(RaiseContext &context, mlir::Location location);
  ~RowTracer();

  std::function<Leaf(llvm::ArrayRef<mlir::Value> lanes)> leaf;
  /// What is done to x before the operation reads it, if anything.
  std::function<mlir::Value(mlir::Value x, GraphBuilder &outside)> prepare;
  /// Extents that tell apart what a reshape splits.
  SymbolicExpr tokens;
  int64_t slots = 0, experts = 0;

  std::optional<RowValue> trace(llvm::ArrayRef<mlir::Value> lanes);

  /// The rows of `x` [tokens, D], in the model a tensor with these axes. The first call decides what x is.
  RowTracer::Leaf rows(mlir::Value x, Axes axes);
  /// A parameter: one value per expert, or one value with all experts on its leading axis.
  RowTracer::Leaf parameter(llvm::ArrayRef<mlir::Value> parts, Axes axes);

  /// The axes of a value with dimensions `to` that is a view of one with dimensions `from` and these axes.
  std::optional<Axes> reshapedAxes(llvm::ArrayRef<SymbolicExpr> from, llvm::ArrayRef<Axis> axes,
                                   llvm::ArrayRef<SymbolicExpr> to);

  /// Ends the region with `result` and creates the operation at the context's place. Its result is given shape and
  /// element type of `like`, which has tokens × D' elements. `weights` and `selected` may be any views of tokens ×
  /// slots. Null when `result` is not one row for each row, or when the shape cannot be made.
  mlir::Value build(const RowValue &result, mlir::Value weights, mlir::Value selected, mlir::Value like,
                    mlir::Operation *root);

private:
  struct Parameter {
    llvm::SmallVector<mlir::Value> parts;
    llvm::SmallVector<int64_t> shape; ///< of one expert's slice
    mlir::BlockArgument argument;
  };

  /// The lanes are the slices of one parameter, in the order of the experts.
  bool isSliced(llvm::ArrayRef<mlir::Value> lanes) const;
  std::optional<RowValue> traceDefinition(llvm::ArrayRef<mlir::Value> lanes);
  std::optional<RowValue> traceOperation(llvm::ArrayRef<mlir::Operation *> ops, unsigned result);
  std::optional<RowValue> traceOperand(llvm::ArrayRef<mlir::Operation *> ops, unsigned operand);
  std::optional<RowValue> constant(llvm::ArrayRef<mlir::Value> lanes);
  std::optional<RowValue> view(llvm::ArrayRef<mlir::Operation *> ops);
  std::optional<RowValue> transpose(llvm::ArrayRef<mlir::Operation *> ops);
  std::optional<RowValue> elementwise(llvm::ArrayRef<mlir::Operation *> ops);
  std::optional<RowValue> matmul(llvm::ArrayRef<mlir::Operation *> ops);
  std::optional<RowValue> gemm(llvm::ArrayRef<mlir::Operation *> ops);
  std::optional<RowValue> packedMatmul(llvm::ArrayRef<mlir::Operation *> ops);
  std::optional<RowValue> slice(llvm::ArrayRef<mlir::Operation *> ops);
  std::optional<RowValue> split(llvm::ArrayRef<mlir::Operation *> ops, unsigned result);
  std::optional<RowValue> concat(llvm::ArrayRef<mlir::Operation *> ops);
  std::optional<RowValue> gather(llvm::ArrayRef<mlir::Operation *> ops);
  std::optional<RowValue> fail(mlir::Operation *op, llvm::StringRef why);

  /// The product of rows [.., k] with a parameter [k, n].
  std::optional<mlir::Value> product(const RowValue &left, const RowValue &right, bool transposed);
  mlir::Value emit(mlir::Operation *like, mlir::ValueRange operands);
  /// Gives `value` the features `shape` (after the rows).
  mlir::Value withFeatures(mlir::Value value, bool rows, llvm::ArrayRef<int64_t> shape);
  /// The operand of an elementwise operation, its features placed among those of the result.
  mlir::Value aligned(const RowValue &operand, llvm::ArrayRef<Axis> result);
  /// The tokens' rows `y` in the shape of `like`.
  mlir::Value shaped(mlir::Value y, mlir::Value like, GraphBuilder &outside);
  mlir::Value stacked(const Parameter &parameter, GraphBuilder &outside);

  RaiseContext &context;
  std::unique_ptr<mlir::Region> region;
  mlir::Block *block;
  mlir::OpBuilder inner;
  GraphBuilder graph;
  mlir::Value x, argument;
  llvm::SmallVector<Parameter> parameters;
  llvm::DenseMap<mlir::Value, std::pair<llvm::SmallVector<mlir::Value>, std::optional<RowValue>>> known;
  int depth = 0;
};

} // namespace farskip

#endif
