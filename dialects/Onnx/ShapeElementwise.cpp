// Shapes of elementwise operators; integer contents are followed where exporters compute shapes with them.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

using Known = std::optional<SymbolicExpr>;

/// Applies `combine` to the tracked contents of all operands (equal lengths, or of length one).
static void followContents(Operation *op, SymbolicShapes &shapes,
                           llvm::function_ref<Known(ArrayRef<SymbolicExpr>)> combine) {
  size_t count = 1;
  SmallVector<const Dims *> all;
  for (Value operand : op->getOperands()) {
    const Dims *known = shapes.contents(operand);
    if (!known || (known->size() != 1 && count != 1 && known->size() != count))
      return;
    if (known->size() != 1)
      count = known->size();
    all.push_back(known);
  }
  if (shapes.rank(op->getResult(0)) > 1)
    return;
  Dims result;
  for (size_t i = 0; i < count; ++i) {
    SmallVector<SymbolicExpr> row;
    for (const Dims *known : all)
      row.push_back((*known)[known->size() == 1 ? 0 : i]);
    Known value = combine(row);
    if (!value)
      return;
    result.push_back(*value);
  }
  shapes.setContents(op->getResult(0), std::move(result));
}

LogicalResult sameTypes(Operation *op) {
  for (Value operand : op->getOperands())
    if (elementType(operand) != elementType(op->getOperand(0)))
      return op->emitOpError() << "operands have different element types " << elementType(op->getOperand(0)) << " and "
                               << elementType(operand);
  return success();
}

LogicalResult checkKind(Operation *op, Value value, StringRef kinds) {
  Type type = elementType(value);
  char kind = isa<FloatType>(type) ? 'f' : type.isInteger(1) ? 'b' : 'i';
  if (kinds.contains(kind))
    return success();
  return op->emitOpError() << "does not take element type " << type;
}

static LogicalResult inferBinary(Operation *op, SymbolicShapes &shapes, StringRef kinds, Type result,
                                 llvm::function_ref<Known(ArrayRef<SymbolicExpr>)> combine) {
  if (failed(sameTypes(op)) || failed(checkKind(op, op->getOperand(0), kinds)) ||
      failed(inferElementwise(op, shapes, result)))
    return failure();
  followContents(op, shapes, combine);
  return success();
}

static Known unknown(ArrayRef<SymbolicExpr>) { return std::nullopt; }
static Known truth(bool value) { return SymbolicExpr(value ? 1 : 0); }

LogicalResult AddOp::inferShapes(SymbolicShapes &shapes) {
  return inferBinary(*this, shapes, "fi", {}, [](auto x) -> Known { return x[0] + x[1]; });
}
LogicalResult SubOp::inferShapes(SymbolicShapes &shapes) {
  return inferBinary(*this, shapes, "fi", {}, [](auto x) -> Known { return x[0] - x[1]; });
}
LogicalResult MulOp::inferShapes(SymbolicShapes &shapes) {
  return inferBinary(*this, shapes, "fi", {}, [](auto x) -> Known { return x[0] * x[1]; });
}
LogicalResult DivOp::inferShapes(SymbolicShapes &shapes) {
  // Truncation is rounding down where nothing is negative.
  return inferBinary(*this, shapes, "fi", {}, [&](auto x) -> Known {
    if (!x[0].isNonNegative() || !x[1].isPositive())
      return x[1].isConstant(0) ? Known() : x[0].dividedBy(x[1]);
    return shapes.floorDiv(x[0], x[1]);
  });
}
LogicalResult ModOp::inferShapes(SymbolicShapes &shapes) {
  if (!getFmod() && isa<FloatType>(elementType(getA())))
    return emitOpError() << "fmod must be 1 for floats";
  return inferBinary(*this, shapes, "fi", {}, [&](auto x) -> Known {
    if (!x[0].isNonNegative() || !x[1].isPositive())
      return std::nullopt;
    return x[0] - shapes.floorDiv(x[0], x[1]) * x[1];
  });
}
LogicalResult PowOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(checkKind(*this, getA(), "fi")) || failed(checkKind(*this, getB(), "fi")))
    return failure();
  return inferElementwise(*this, shapes);
}

static LogicalResult inferCompare(Operation *op, SymbolicShapes &shapes, StringRef kinds,
                                  llvm::function_ref<Known(SymbolicExpr)> ofDifference) {
  return inferBinary(op, shapes, kinds, IntegerType::get(op->getContext(), 1),
                     [&](auto x) { return ofDifference(x[0] - x[1]); });
}
LogicalResult EqualOp::inferShapes(SymbolicShapes &shapes) {
  return inferCompare(*this, shapes, "fib", [](SymbolicExpr d) -> Known {
    if (d.isConstant(0))
      return truth(true);
    return d.isPositive() || d.isNegative() ? truth(false) : Known();
  });
}
static Known whenPositive(const SymbolicExpr &d, bool orEqual) {
  if (d.isPositive() || (orEqual && d.isNonNegative()))
    return truth(true);
  SymbolicExpr opposite = SymbolicExpr(0) - d;
  if (opposite.isPositive() || (!orEqual && opposite.isNonNegative()))
    return truth(false);
  return std::nullopt;
}
LogicalResult GreaterOp::inferShapes(SymbolicShapes &shapes) {
  return inferCompare(*this, shapes, "fi", [](SymbolicExpr d) { return whenPositive(d, false); });
}
LogicalResult GreaterOrEqualOp::inferShapes(SymbolicShapes &shapes) {
  return inferCompare(*this, shapes, "fi", [](SymbolicExpr d) { return whenPositive(d, true); });
}
LogicalResult LessOp::inferShapes(SymbolicShapes &shapes) {
  return inferCompare(*this, shapes, "fi", [](SymbolicExpr d) { return whenPositive(SymbolicExpr(0) - d, false); });
}
LogicalResult LessOrEqualOp::inferShapes(SymbolicShapes &shapes) {
  return inferCompare(*this, shapes, "fi", [](SymbolicExpr d) { return whenPositive(SymbolicExpr(0) - d, true); });
}

static LogicalResult inferLogic(Operation *op, SymbolicShapes &shapes, int64_t (*combine)(int64_t, int64_t)) {
  return inferBinary(op, shapes, "b", {}, [&](auto x) -> Known {
    if (!x[0].constant() || !x[1].constant())
      return std::nullopt;
    return SymbolicExpr(combine(*x[0].constant(), *x[1].constant()));
  });
}
LogicalResult AndOp::inferShapes(SymbolicShapes &shapes) {
  return inferLogic(*this, shapes, [](int64_t a, int64_t b) { return a & b; });
}
LogicalResult OrOp::inferShapes(SymbolicShapes &shapes) {
  return inferLogic(*this, shapes, [](int64_t a, int64_t b) { return a | b; });
}
LogicalResult XorOp::inferShapes(SymbolicShapes &shapes) {
  return inferLogic(*this, shapes, [](int64_t a, int64_t b) { return a ^ b; });
}

static LogicalResult inferExtreme(Operation *op, SymbolicShapes &shapes, bool greatest) {
  if (op->getNumOperands() == 0)
    return op->emitOpError() << "has no inputs";
  return inferBinary(op, shapes, "fi", {}, [&](auto x) -> Known {
    SymbolicExpr result = x[0];
    for (const SymbolicExpr &other : x.drop_front()) {
      SymbolicExpr difference = result - other;
      bool known = difference.isNonNegative() || (SymbolicExpr(0) - difference).isNonNegative();
      if (!known && !(result.isNonNegative() && other.isNonNegative()))
        return std::nullopt;
      result = greatest ? shapes.max(result, other) : shapes.min(result, other);
    }
    return result;
  });
}
LogicalResult MaxOp::inferShapes(SymbolicShapes &shapes) { return inferExtreme(*this, shapes, true); }
/// Operands of one sum: the loop over them is one operation, which takes time in the square of their number.
static constexpr unsigned kMaxSummands = 1024;

static LogicalResult inferVariadicSum(Operation *op, SymbolicShapes &shapes) {
  if (op->getNumOperands() > kMaxSummands)
    return op->emitOpError("has ") << op->getNumOperands() << " operands; at most " << kMaxSummands << " are supported";
  if (op->getNumOperands() == 0)
    return op->emitOpError() << "has no inputs";
  return inferBinary(op, shapes, "f", {}, unknown);
}
LogicalResult SumOp::inferShapes(SymbolicShapes &shapes) { return inferVariadicSum(*this, shapes); }
LogicalResult MeanOp::inferShapes(SymbolicShapes &shapes) { return inferVariadicSum(*this, shapes); }
LogicalResult MinOp::inferShapes(SymbolicShapes &shapes) { return inferExtreme(*this, shapes, false); }

LogicalResult inferUnary(Operation *op, SymbolicShapes &shapes, StringRef kinds) {
  if (failed(checkKind(op, op->getOperand(0), kinds)))
    return failure();
  return inferLike(op, shapes, op->getOperand(0));
}
LogicalResult AbsOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "fi"); }
LogicalResult CeilOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult CosOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult ErfOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "fi"); }
LogicalResult ExpOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult FloorOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult LogOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult ReciprocalOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult ReluOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "fi"); }
LogicalResult RoundOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult SigmoidOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult SignOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "fi"); }
LogicalResult SinOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult SoftplusOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult SqrtOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult TanhOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult SwishOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult MsQuickGeluOp::inferShapes(SymbolicShapes &shapes) { return inferUnary(*this, shapes, "f"); }
LogicalResult GeluOp::inferShapes(SymbolicShapes &shapes) {
  if (getApproximate() != "none" && getApproximate() != "tanh")
    return emitOpError() << "approximate is '" << getApproximate() << "', valid are none and tanh";
  return inferUnary(*this, shapes, "f");
}
LogicalResult MsGatedAddOp::inferShapes(SymbolicShapes &shapes) { return inferBinary(*this, shapes, "f", {}, unknown); }

LogicalResult NegOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(inferUnary(*this, shapes, "fi")))
    return failure();
  followContents(*this, shapes, [](auto x) -> Known { return SymbolicExpr(0) - x[0]; });
  return success();
}
LogicalResult NotOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(inferUnary(*this, shapes, "b")))
    return failure();
  followContents(*this, shapes, [](auto x) -> Known { return SymbolicExpr(1) - x[0]; });
  return success();
}
LogicalResult IdentityOp::inferShapes(SymbolicShapes &shapes) {
  if (const Dims *known = shapes.contents(getX()))
    shapes.setContents(getY(), *known);
  return inferLike(*this, shapes, getX());
}
static LogicalResult inferTest(Operation *op, SymbolicShapes &shapes) {
  Value x = op->getOperand(0);
  if (failed(checkKind(op, x, "f")))
    return failure();
  shapes.set(op->getResult(0), IntegerType::get(op->getContext(), 1), Dims(shapes.shape(x)));
  return success();
}
LogicalResult IsNaNOp::inferShapes(SymbolicShapes &shapes) { return inferTest(*this, shapes); }
LogicalResult IsInfOp::inferShapes(SymbolicShapes &shapes) { return inferTest(*this, shapes); }
LogicalResult ClipOp::inferShapes(SymbolicShapes &shapes) {
  if (failed(sameTypes(*this)) || failed(checkKind(*this, getInput(), "fi")))
    return failure();
  for (Value bound : getOperands().drop_front())
    if (!shapes.elements(bound).isConstant(1))
      return emitOpError() << "a bound of shape " << shapes.str(shapes.shape(bound)) << ", wanted a scalar";
  return inferLike(*this, shapes, getInput());
}

Type castType(MLIRContext *context, int64_t to) {
  Builder b(context);
  auto integer = [&](unsigned width, bool isUnsigned) -> Type {
    return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (to) {
  case 1:
    return b.getF32Type();
  case 2:
    return integer(8, true);
  case 3:
    return integer(8, false);
  case 4:
    return integer(16, true);
  case 5:
    return integer(16, false);
  case 6:
    return integer(32, false);
  case 7:
    return integer(64, false);
  case 9:
    return b.getI1Type();
  case 10:
    return b.getF16Type();
  case 11:
    return b.getF64Type();
  case 12:
    return integer(32, true);
  case 13:
    return integer(64, true);
  case 16:
    return b.getBF16Type();
  default:
    return {};
  }
}

static LogicalResult inferCast(Operation *op, SymbolicShapes &shapes, Type to) {
  Value input = op->getOperand(0);
  shapes.set(op->getResult(0), to, Dims(shapes.shape(input)));
  auto from = dyn_cast<IntegerType>(elementType(input)), target = dyn_cast<IntegerType>(to);
  const Dims *known = shapes.contents(input);
  if (!known || !from || !target)
    return success();
  // Only where no value changes: widening, or numbers that are surely small.
  Dims contents = *known;
  for (SymbolicExpr &value : contents) {
    if (target.getWidth() == 1) {
      bool zero = value.isConstant(0), other = value.isPositive() || value.isNegative();
      if (!zero && !other)
        return success();
      value = zero ? 0 : 1;
      continue;
    }
    if (!value.constant() && target.getWidth() < 32)
      return success();
    if (value.constant() && !llvm::isIntN(std::min(target.getWidth(), 63u) - 1, std::abs(*value.constant())))
      return success();
    if (target.isUnsigned() && !value.isNonNegative())
      return success();
  }
  shapes.setContents(op->getResult(0), std::move(contents));
  return success();
}
LogicalResult CastOp::inferShapes(SymbolicShapes &shapes) {
  Type to = castType(getContext(), getTo());
  if (!to)
    return emitOpError() << "to = " << getTo() << " is no supported element type";
  return inferCast(*this, shapes, to);
}
LogicalResult CastLikeOp::inferShapes(SymbolicShapes &shapes) {
  return inferCast(*this, shapes, elementType(getTargetType()));
}

LogicalResult WhereOp::inferShapes(SymbolicShapes &shapes) {
  if (!elementType(getCondition()).isInteger(1))
    return emitOpError() << "the condition has element type " << elementType(getCondition()) << ", wanted bool";
  if (elementType(getX()) != elementType(getY()))
    return emitOpError() << "the branches have different element types " << elementType(getX()) << " and "
                         << elementType(getY());
  if (failed(inferElementwise(*this, shapes, elementType(getX()))))
    return failure();
  followContents(*this, shapes, [](auto x) -> Known {
    if (!x[0].constant())
      return x[1] == x[2] ? Known(x[1]) : std::nullopt;
    return *x[0].constant() ? x[1] : x[2];
  });
  return success();
}

} // namespace farskip::onnx
