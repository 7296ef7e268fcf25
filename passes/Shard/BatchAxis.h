// Which axis of every value counts the sequences of the batch.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_SHARD_BATCHAXIS_H
#define FARSKIP_PASSES_SHARD_BATCHAXIS_H

#include "dialects/Shape/SymbolicShapes.h"
#include "mlir/IR/Operation.h"

namespace farskip {

/// What a rank holds of a value when it runs the program on its block of the batch.
struct BatchState {
  enum class Kind {
    Same,  ///< what every rank holds; for small integer tensors with known contents: the contents, of its own batch
    Slice, ///< the rank's block along `axis`, whose extent is a multiple of the batch
    List, ///< along `axis`, entries that belong to sequences of the rank: those of the whole batch's list, in its order
    Unknown, ///< not proven to be either
  } kind = Kind::Same;
  int64_t axis = 0;
  /// Of integers that count along the batch: by how much the numbers grow from one sequence to the next. They start at
  /// zero on every rank. One entry, or one for each position of the axis `along`; empty is zero.
  Dims units;
  int64_t along = 0;
  /// List: what made it. Entries of two lists of one source belong together; null goes with any.
  mlir::Operation *source = nullptr;
  /// Unknown: the operation at which the proof ends, and why.
  mlir::Operation *cause = nullptr;
  std::string reason;

  static BatchState same() { return {}; }
  static BatchState slice(int64_t axis, Dims units = {}, int64_t along = 0) {
    BatchState state;
    state.kind = Kind::Slice;
    state.axis = axis;
    state.units = std::move(units);
    state.along = along;
    return state;
  }
  static BatchState unknown(mlir::Operation *cause, const llvm::Twine &reason) {
    BatchState state;
    state.kind = Kind::Unknown;
    state.cause = cause;
    state.reason = reason.str();
    return state;
  }
  /// Like this one, with another axis and other units.
  BatchState at(int64_t newAxis, Dims newUnits = {}, int64_t newAlong = 0) const {
    BatchState state = *this;
    state.axis = newAxis;
    state.units = std::move(newUnits);
    state.along = newAlong;
    return state;
  }
  bool isSlice() const { return kind == Kind::Slice; }
  bool isList() const { return kind == Kind::List; }
  /// A slice or a list: the rank's part of something along `axis`.
  bool isPart() const { return isSlice() || isList(); }
  /// Whether entries of the two along their axes belong together.
  bool matches(const BatchState &other) const {
    return kind == other.kind && (!isList() || !source || !other.source || source == other.source);
  }
  bool isUnknown() const { return kind == Kind::Unknown; }
  /// A slice that holds no numbers that count along the batch.
  bool isPlain() const { return units.empty(); }
};

/// Proves by propagation that a function of tensors, run on blocks of its batch, computes the blocks of its results: no
/// operation but the experts of a mixture-of-experts block brings sequences together. One forward walk.
class BatchAxis {
public:
  /// `batch` is the symbol that counts sequences; every argument with it is sliced. `function` has its shapes derived.
  BatchAxis(mlir::func::FuncOp function, SymbolicShapes &shapes, SymbolicExpr::Symbol batch);

  const BatchState &state(mlir::Value value) { return states[value]; }
  /// The first result of the function, or operand of a mixture-of-experts block, that is not proven.
  const BatchState *failure() const { return failed.isUnknown() ? &failed : nullptr; }

  // For the rules of the operators.
  SymbolicShapes &shapes;
  SymbolicExpr batch;
  /// What `value` holds as data: numbers that stand for extents of the rank's own batch are unknown.
  BatchState data(mlir::Value value, mlir::Operation *user);
  /// An argument such as a shape: good when its contents are known or the same on all ranks.
  bool isShapeArgument(mlir::Value value);
  bool mentionsBatch(const SymbolicExpr &expr);
  bool mentionsBatch(llvm::ArrayRef<SymbolicExpr> exprs);
  /// How often one sequence's entries follow each other along an axis of this extent.
  std::optional<SymbolicExpr> perSequence(const SymbolicExpr &extent) { return extent.dividedBy(batch); }

private:
  void visit(mlir::Operation *op);
  /// States must fit the derived shapes; what does not becomes unknown.
  BatchState checked(BatchState state, mlir::Value value, mlir::Operation *op);

  SymbolicExpr::Symbol symbol;
  llvm::DenseMap<mlir::Value, BatchState> states;
  BatchState failed;
};

/// The states of an operation's results; one entry stands for all.
llvm::SmallVector<BatchState> batchRule(mlir::Operation *op, BatchAxis &axis);

} // namespace farskip

#endif
