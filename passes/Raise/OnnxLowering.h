// The frame in which each ONNX operator is lowered to linalg, tensor, scf and arith.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_RAISE_ONNXLOWERING_H
#define FARSKIP_PASSES_RAISE_ONNXLOWERING_H

#include "dialects/Onnx/OnnxOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace farskip {

class OnnxLowering;

/// Which function lowers which operation. Families add theirs (`populate…Lowerings`).
class OnnxLoweringRegistry {
public:
  using Function = std::function<mlir::LogicalResult(mlir::Operation *, OnnxLowering &)>;
  template <typename OpT> void add(mlir::LogicalResult (*lower)(OpT, OnnxLowering &)) {
    functions[mlir::TypeID::get<OpT>()] = [lower](mlir::Operation *op, OnnxLowering &to) {
      return lower(llvm::cast<OpT>(op), to);
    };
  }
  const Function *find(mlir::Operation *op) const {
    auto at = functions.find(op->getName().getTypeID());
    return at == functions.end() ? nullptr : &at->second;
  }

private:
  llvm::DenseMap<mlir::TypeID, Function> functions;
};

/// Lowers the operations of one function in order. New operations are inserted before the one that is lowered. Lowered
/// tensors have signless element types; whether an integer is unsigned is asked of the ONNX value.
///
/// Sizes (`size`, `sizes`, `empty`) are to be asked for at the top level, before a loop or region is entered.
class OnnxLowering {
public:
  OnnxLowering(SymbolicShapes &shapes, const OnnxLoweringRegistry &registry, mlir::func::FuncOp function)
      : builder(function.getContext()), shapes(shapes), registry(registry), function(function) {}

  mlir::LogicalResult run();
  /// Lowers a nested block that uses nothing from outside into the empty block `to`, all but the terminator.
  mlir::LogicalResult lowerBlock(mlir::Block &from, mlir::Block &to);

  mlir::OpBuilder builder;
  SymbolicShapes &shapes;
  mlir::Location loc() const { return location; }

  /// The lowered tensor of an ONNX value.
  mlir::Value value(mlir::Value onnx) const { return values.lookup(onnx); }
  /// Defines the lowered tensor of an ONNX value; casts to the type that the shape analysis derived.
  void set(mlir::Value onnx, mlir::Value lowered);
  mlir::RankedTensorType type(mlir::Value onnx);

  /// An expression as a constant or an index value.
  mlir::OpFoldResult size(const SymbolicExpr &expr);
  mlir::Value sizeValue(const SymbolicExpr &expr);
  llvm::SmallVector<mlir::OpFoldResult> sizes(llvm::ArrayRef<SymbolicExpr> dims);
  llvm::SmallVector<mlir::OpFoldResult> sizes(mlir::Value onnx) { return sizes(shapes.shape(onnx)); }
  mlir::Value empty(llvm::ArrayRef<SymbolicExpr> dims, mlir::Type element);
  mlir::Value empty(mlir::Value onnx) { return empty(shapes.shape(onnx), type(onnx).getElementType()); }
  mlir::Value filled(llvm::ArrayRef<SymbolicExpr> dims, mlir::Value scalar);

  mlir::Value index(int64_t number);
  /// A scalar constant of an element type; `number` is converted to it.
  mlir::Value scalar(mlir::Type element, double number);
  mlir::Value integer(mlir::Type element, int64_t number);

  using ScalarBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
  /// One `linalg.generic` over the shape of `result` with numpy broadcasting of the operands (ONNX values). The body
  /// gets one scalar per operand. Defines `result`.
  void elementwise(llvm::ArrayRef<mlir::Value> operands, mlir::Value result, ScalarBody body);
  /// The same for lowered operands whose dimensions are given; returns the lowered tensor.
  struct Operand {
    mlir::Value tensor;
    llvm::ArrayRef<SymbolicExpr> dims;
  };
  mlir::Value elementwise(llvm::ArrayRef<Operand> operands, llvm::ArrayRef<SymbolicExpr> dims, mlir::Type element,
                          ScalarBody body);

  /// One `linalg.generic` over `dims` whose body computes each element from its indices (and any tensors it captures
  /// and reads with tensor.extract).
  using IndexBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, llvm::ArrayRef<mlir::Value>)>;
  mlir::Value generate(llvm::ArrayRef<SymbolicExpr> dims, mlir::Type element, IndexBody body) {
    return generate(sizes(dims), element, body);
  }
  mlir::Value generate(llvm::ArrayRef<mlir::OpFoldResult> extents, mlir::Type element, IndexBody body);
  /// Every element of a lowered tensor through `body`; the result has its shape.
  mlir::Value map(mlir::Value tensor, mlir::Type element, ScalarBody body);

  /// Folds the axes for which `reduced` holds into `init`, in row-major order, one chain per element of the result. The
  /// body gets the element and the value so far. The result has the other axes only.
  mlir::Value reduce(mlir::Value tensor, llvm::ArrayRef<SymbolicExpr> dims, llvm::ArrayRef<bool> reduced,
                     mlir::Value init, ScalarBody body);

  /// Nested loops over `extents` that carry tensors; the body returns the new ones. Returns the final ones. In the body
  /// `builder` stands inside the loops.
  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::Location, llvm::ArrayRef<mlir::Value> indices, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> loops(llvm::ArrayRef<mlir::Value> extents, mlir::ValueRange init, LoopBody body);

  /// Ends the run with a message, prefixed by the node's name, unless `condition` (i1) holds.
  void check(mlir::Value condition, const llvm::Twine &message, mlir::ValueRange values = {});

  /// Ends the run unless `dim` is `extent`; `what` has it.
  void checkExtent(const SymbolicExpr &dim, int64_t extent, llvm::StringRef what);
  /// Ends the run when a tensor of these extents, which the data decides, has more than 2^40 elements: no product of
  /// extents that becomes a size in bytes may wrap.
  void checkSize(llvm::ArrayRef<mlir::OpFoldResult> extents);
  /// Ends the run when an element of the ONNX value is outside [-extent, extent).
  void checkIndices(mlir::Value onnx, mlir::Value extent);
  /// The same for the index tuples along the last axis, each position with its extent.
  void checkTuples(mlir::Value onnx, llvm::ArrayRef<mlir::Value> extents);
  /// A checked index, negative ones counted from the end, as an index value.
  static mlir::Value wrapIndex(mlir::OpBuilder &b, mlir::Location loc, mlir::Value index, mlir::Value extent);

  /// The only element of an ONNX value of one element, whatever its rank.
  mlir::Value onlyElement(mlir::Value onnx);

  /// The same tensor with other dimensions; the element count is the same. `from` and `to` are its dimensions.
  mlir::Value reshape(mlir::Value tensor, llvm::ArrayRef<SymbolicExpr> from, llvm::ArrayRef<SymbolicExpr> to);

  /// Batched product of [.., M, K] and [.., K, N] with numpy broadcasting of the leading axes, to [.., M, N]. One FMA
  /// chain over K per element, accumulated in f32 for narrower floats and rounded once.
  mlir::Value matmul(mlir::Value a, llvm::ArrayRef<SymbolicExpr> aDims, mlir::Value b,
                     llvm::ArrayRef<SymbolicExpr> bDims, llvm::ArrayRef<SymbolicExpr> yDims);
  /// Stretches a tensor to `to`, copying it.
  mlir::Value broadcastTo(mlir::Value tensor, llvm::ArrayRef<SymbolicExpr> from, llvm::ArrayRef<SymbolicExpr> to);
  /// Rounds or widens floats, tensor-wise; the same tensor when nothing changes.
  mlir::Value convertFloat(mlir::Value tensor, llvm::ArrayRef<SymbolicExpr> dims, mlir::Type element);

  /// Casts a scalar between element types by ONNX Cast's rules (saturating float to integer, NaN to 0).
  static mlir::Value castScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scalar, mlir::Type fromOnnx,
                                mlir::Type toOnnx);

private:
  mlir::LogicalResult lowerOperations(mlir::Block &block);
  void checkRange(mlir::Value tensor, llvm::ArrayRef<SymbolicExpr> dims, mlir::Value extent);
  mlir::Value symbol(SymbolicExpr::Symbol symbol);

  const OnnxLoweringRegistry &registry;
  mlir::func::FuncOp function;
  mlir::Location location = mlir::UnknownLoc::get(builder.getContext());
  mlir::Operation *current = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<SymbolicExpr::Symbol, mlir::Value> symbols;
};

/// Whether the elements of an ONNX value are compared and widened as unsigned integers; bool is.
bool isUnsignedElement(mlir::Value onnx);

/// ui8 → i8 and so on; integers of 2 and 4 bits lie in a byte each; everything else stays.
mlir::Type signlessType(mlir::Type element);

/// The operator's name for messages: node name, or operator type when it has none.
std::string nodeName(mlir::Operation *op);

void populateAttentionLowerings(OnnxLoweringRegistry &registry);
void populateGroupQueryAttentionLowerings(OnnxLoweringRegistry &registry);
void populateConstantLowerings(OnnxLoweringRegistry &registry);
void populateElementwiseLowerings(OnnxLoweringRegistry &registry);
void populateFusedLowerings(OnnxLoweringRegistry &registry);
void populateMultiHeadLowerings(OnnxLoweringRegistry &registry);
void populateTensorScatterLowerings(OnnxLoweringRegistry &registry);
void populateMatMulLowerings(OnnxLoweringRegistry &registry);
void populateNormLowerings(OnnxLoweringRegistry &registry);
void populateLayoutLowerings(OnnxLoweringRegistry &registry);
void populateSliceLowerings(OnnxLoweringRegistry &registry);
void populateActivationLowerings(OnnxLoweringRegistry &registry);
void populateBitwiseLowerings(OnnxLoweringRegistry &registry);
void populateIndexingLowerings(OnnxLoweringRegistry &registry);
void populateScatterLowerings(OnnxLoweringRegistry &registry);
void populateQuantisedLowerings(OnnxLoweringRegistry &registry);
void populateQuantizeLinearLowerings(OnnxLoweringRegistry &registry);
void populateMatMulBnb4Lowerings(OnnxLoweringRegistry &registry);
void populateReduceLowerings(OnnxLoweringRegistry &registry);
void populateRotaryLowerings(OnnxLoweringRegistry &registry);
void populateMoeLowerings(OnnxLoweringRegistry &registry);

} // namespace farskip

#endif
