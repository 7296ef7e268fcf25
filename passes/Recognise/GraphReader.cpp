// Reads onnx operations backwards.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/GraphReader.h"
#include <cmath>

using namespace farskip;
using namespace farskip::onnx;
using namespace mlir;

Value GraphReader::copied(Value value) {
  for (Operation *op = value.getDefiningOp(); op; op = value.getDefiningOp()) {
    if (!isa<IdentityOp, ReshapeOp, ExpandOp, SqueezeOp, UnsqueezeOp, FlattenOp, SliceOp>(op) ||
        !sameShape(op->getOperand(0), value))
      return value;
    if (auto slice = dyn_cast<SliceOp>(op); slice && slice.getSteps()) {
      // As long as what it takes from, so that it either copies or reverses.
      std::optional<SmallVector<int64_t>> steps = shapes.constants(slice.getSteps());
      if (!steps || llvm::any_of(*steps, [](int64_t step) { return step < 1; }))
        return value;
    }
    value = op->getOperand(0);
  }
  return value;
}

Value GraphReader::uncast(Value value) {
  while (true) {
    value = copied(value);
    auto cast = value.getDefiningOp<CastOp>();
    if (!cast || !isa<FloatType>(getElementTypeOrSelf(cast.getInput().getType())) ||
        !isa<FloatType>(getElementTypeOrSelf(value.getType())))
      return value;
    value = cast.getInput();
  }
}

static std::optional<double> onlyElement(Attribute attribute) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(attribute);
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType())) {
    APFloat number = elements.getSplatValue<APFloat>();
    bool ignored;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &ignored);
    return number.convertToDouble();
  }
  if (elements.getElementType().isInteger(1) || !elements.getElementType().isSignlessInteger())
    return std::nullopt;
  return static_cast<double>(elements.getSplatValue<APInt>().getSExtValue());
}

std::optional<double> GraphReader::scalar(Value value) {
  if (!shapes.elements(value).isConstant(1))
    return std::nullopt;
  if (std::optional<SmallVector<int64_t>> known = shapes.constants(value))
    return static_cast<double>(known->front());
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return onlyElement(constant.getValueAttr());
  auto of = [&](unsigned i) { return scalar(op->getOperand(i)); };
  if (isa<IdentityOp, ReshapeOp, ExpandOp, SqueezeOp, UnsqueezeOp>(op))
    return of(0);
  // Casts to integers round; those are among the contents that the shape analysis knows.
  if (!isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return std::nullopt;
  if (isa<CastOp>(op))
    return of(0);
  std::optional<double> x;
  if (isa<SqrtOp, ReciprocalOp, NegOp>(op) && (x = of(0)))
    return isa<SqrtOp>(op) ? std::sqrt(*x) : isa<NegOp>(op) ? -*x : 1 / *x;
  std::optional<double> y;
  if (isa<MulOp, DivOp, PowOp>(op) && (x = of(0)) && (y = of(1)))
    return isa<MulOp>(op) ? *x * *y : isa<DivOp>(op) ? *x / *y : std::pow(*x, *y);
  return std::nullopt;
}

std::optional<GraphReader::Scaled> GraphReader::scaled(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<MulOp, DivOp>(op) || !isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    if (isa<DivOp>(op) && i == 1)
      break;
    Value tensor = op->getOperand(i);
    if (!sameShape(tensor, value))
      continue;
    if (std::optional<double> factor = scalar(op->getOperand(1 - i)))
      return Scaled{tensor, isa<DivOp>(op) ? 1 / *factor : *factor};
  }
  return std::nullopt;
}

bool GraphReader::isLast(Value axes, int64_t rank) {
  std::optional<SmallVector<int64_t>> known = shapes.constants(axes);
  return known && known->size() == 1 && (known->front() == -1 || known->front() == rank - 1);
}
