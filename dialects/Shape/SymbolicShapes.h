// The forward analysis that gives every tensor symbolic dimensions, and small integer tensors symbolic contents.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_SHAPE_SYMBOLICSHAPES_H
#define FARSKIP_DIALECTS_SHAPE_SYMBOLICSHAPES_H

#include "dialects/Shape/SymbolicExpr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace farskip {

using Dims = llvm::SmallVector<SymbolicExpr>;

/// How the value of a symbol is found when the program runs.
struct SymbolDefinition {
  enum class Kind {
    Extent,   ///< the extent of `value` along `axis`
    FloorDiv, ///< lhs / rhs rounded down
    CeilDiv,  ///< lhs / rhs rounded up
    Max,      ///< max(lhs, rhs)
    Min,      ///< min(lhs, rhs)
    Broadcast ///< lhs when rhs is 1, else rhs
  } kind;
  std::string name; ///< as the model calls it, empty for derived ones
  mlir::Value value;
  int64_t axis = 0;
  SymbolicExpr lhs, rhs;
};

/// Tensors of at most this many integers have their contents tracked.
constexpr int64_t kMaxTrackedElements = 1024;

/// Shapes and contents of the values of one function. Run once before a phase that needs them; operations implement
/// `SymbolicShapeOpInterface` to take part. An argument's symbol names come from its attribute `onnx.dims`.
class SymbolicShapes {
public:
  /// Visits `function` in order. Sets the type of every result to what was derived. Fails with a diagnostic.
  mlir::LogicalResult run(mlir::func::FuncOp function);

  /// Dimensions of a ranked tensor value; a value never seen gets fresh symbols for its dynamic dimensions.
  llvm::ArrayRef<SymbolicExpr> shape(mlir::Value value);
  int64_t rank(mlir::Value value) { return shape(value).size(); }
  SymbolicExpr elements(mlir::Value value);
  /// Contents in row-major order of a small integer or bool tensor when all are known.
  const Dims *contents(mlir::Value value) const;
  /// Contents that are all numbers.
  std::optional<llvm::SmallVector<int64_t>> constants(mlir::Value value) const;

  /// Gives `value` its type and dimensions.
  void set(mlir::Value value, mlir::Type element, Dims dims);
  void setContents(mlir::Value value, Dims contents);
  /// Gives `value` a dimension only known when the program runs: the extent of `value` along `axis`.
  SymbolicExpr fresh(mlir::Value value, int64_t axis);

  SymbolicExpr floorDiv(const SymbolicExpr &lhs, const SymbolicExpr &rhs);
  SymbolicExpr ceilDiv(const SymbolicExpr &lhs, const SymbolicExpr &rhs);
  SymbolicExpr max(const SymbolicExpr &lhs, const SymbolicExpr &rhs);
  SymbolicExpr min(const SymbolicExpr &lhs, const SymbolicExpr &rhs);
  /// The extent of two broadcast dimensions; nothing when they can never be broadcast.
  std::optional<SymbolicExpr> broadcast(const SymbolicExpr &lhs, const SymbolicExpr &rhs);
  /// Numpy broadcasting of whole shapes.
  std::optional<Dims> broadcast(llvm::ArrayRef<SymbolicExpr> lhs, llvm::ArrayRef<SymbolicExpr> rhs);

  const SymbolDefinition &definition(SymbolicExpr::Symbol symbol) const { return symbols[symbol]; }
  /// As text, for diagnostics and `--describe`: "2*batch + 1".
  std::string str(const SymbolicExpr &expr) const;
  std::string str(llvm::ArrayRef<SymbolicExpr> dims) const;

private:
  SymbolicExpr derived(SymbolDefinition::Kind kind, const SymbolicExpr &lhs, const SymbolicExpr &rhs);
  SymbolicExpr named(llvm::StringRef name, mlir::Value value, int64_t axis);

  std::vector<SymbolDefinition> symbols;
  llvm::StringMap<SymbolicExpr::Symbol> byName;
  std::map<std::string, SymbolicExpr::Symbol> byDerivation;
  llvm::DenseMap<mlir::Value, Dims> shapes;
  llvm::DenseMap<mlir::Value, Dims> values;
};

} // namespace farskip

#include "dialects/Shape/SymbolicShapeOpInterface.h.inc"

#endif
