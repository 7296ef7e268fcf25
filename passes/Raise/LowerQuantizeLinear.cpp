// Lowering of QuantizeLinear and DequantizeLinear.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/AttentionCore.h"

using namespace mlir;

namespace farskip {

namespace {

/// Finds an element's scale and zero point: one for all, one for each position of an axis, or one for each block of it.
class Granularity {
public:
  Granularity(OnnxLowering &to, Value x, Value scale, Value zero, int64_t axis, int64_t block)
      : scale(to.value(scale)), zero(zero ? to.value(zero) : Value()), isUnsigned(zero && isUnsignedElement(zero)),
        axis(axis < 0 ? axis + to.shapes.rank(x) : axis), block(block) {
    Dims dims(to.shapes.shape(x)), have(to.shapes.shape(scale));
    rank = have.size();
    one = to.shapes.elements(scale).isConstant(1) && block == 0;
    if (zero)
      for (auto [given, wanted] : llvm::zip(to.shapes.shape(zero), have))
        requireEqual(to, given, wanted, "an extent of the zero point");
    if (one)
      return;
    for (auto [i, dim] : llvm::enumerate(dims)) {
      bool along = static_cast<int64_t>(i) == this->axis;
      if (block)
        requireEqual(to, have[i], along ? to.shapes.ceilDiv(dim, block) : dim, "an extent of the scale");
      else if (along)
        requireEqual(to, have[0], dim, "the extent of the scale");
    }
  }

  /// The scale and, as i32, the zero point of the element at `index`; a null zero point is 0.
  std::pair<Value, Value> at(OpBuilder &b, Location loc, ArrayRef<Value> index) {
    SmallVector<Value> where;
    if (one) {
      where.assign(rank, arith::ConstantIndexOp::create(b, loc, 0));
    } else if (block) {
      where.assign(index.begin(), index.end());
      where[axis] = arith::DivUIOp::create(b, loc, where[axis], arith::ConstantIndexOp::create(b, loc, block));
    } else {
      where = {index[axis]};
    }
    Value point;
    if (zero)
      point = widen(b, loc, tensor::ExtractOp::create(b, loc, zero, where), isUnsigned);
    return {toF32(b, loc, tensor::ExtractOp::create(b, loc, scale, where)), point};
  }

  static Value widen(OpBuilder &b, Location loc, Value number, bool isUnsigned) {
    if (number.getType().isInteger(32))
      return number;
    if (isUnsigned)
      return arith::ExtUIOp::create(b, loc, b.getI32Type(), number);
    return arith::ExtSIOp::create(b, loc, b.getI32Type(), number);
  }
  static Value toF32(OpBuilder &b, Location loc, Value x) {
    if (x.getType().isF32())
      return x;
    if (isa<IntegerType>(x.getType()))
      return arith::SIToFPOp::create(b, loc, b.getF32Type(), x);
    if (x.getType().isF64())
      return arith::TruncFOp::create(b, loc, b.getF32Type(), x);
    return arith::ExtFOp::create(b, loc, b.getF32Type(), x);
  }

private:
  Value scale, zero;
  bool isUnsigned, one;
  int64_t rank, axis, block;
};

LogicalResult lowerDequantize(onnx::DequantizeLinearOp op, OnnxLowering &to) {
  Granularity granularity(to, op.getX(), op.getXScale(), op.getXZeroPoint(), op.getAxis(), op.getBlockSize());
  Value x = to.value(op.getX());
  bool isUnsigned = isUnsignedElement(op.getX());
  Type element = to.type(op.getY()).getElementType();
  Dims dims(to.shapes.shape(op.getX()));
  to.set(op.getY(), to.generate(dims, element, [&](OpBuilder &b, Location loc, ArrayRef<Value> i) -> Value {
    auto [scale, zero] = granularity.at(b, loc, i);
    Value number = Granularity::widen(b, loc, tensor::ExtractOp::create(b, loc, x, i), isUnsigned);
    if (zero)
      number = arith::SubIOp::create(b, loc, number, zero);
    Value y = arith::MulFOp::create(b, loc, arith::SIToFPOp::create(b, loc, b.getF32Type(), number), scale);
    return element.isF32() ? y : arith::TruncFOp::create(b, loc, element, y).getResult();
  }));
  return success();
}

LogicalResult lowerQuantize(onnx::QuantizeLinearOp op, OnnxLowering &to) {
  Granularity granularity(to, op.getX(), op.getYScale(), op.getYZeroPoint(), op.getAxis(), op.getBlockSize());
  Value x = to.value(op.getX());
  Type onnx = getElementTypeOrSelf(op.getY().getType()), element = signlessType(onnx);
  unsigned width = onnx.getIntOrFloatBitWidth();
  bool isUnsigned = onnx.isUnsignedInteger();
  double least = isUnsigned ? 0 : -static_cast<double>(1 << (width - 1));
  double most = static_cast<double>(1 << (isUnsigned ? width : width - 1)) - 1;
  // The quotient is rounded to this type before it is rounded to an integer.
  Type precise = getElementTypeOrSelf(op.getYScale().getType());
  if (op.getPrecision())
    precise = op.getPrecision() == 10   ? Type(to.builder.getF16Type())
              : op.getPrecision() == 16 ? Type(to.builder.getBF16Type())
                                        : Type(to.builder.getF32Type());
  Dims dims(to.shapes.shape(op.getX()));
  to.set(op.getY(), to.generate(dims, element, [&](OpBuilder &b, Location loc, ArrayRef<Value> i) -> Value {
    auto real = [&](double number) -> Value { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(number)); };
    auto [scale, zero] = granularity.at(b, loc, i);
    Value number = Granularity::toF32(b, loc, tensor::ExtractOp::create(b, loc, x, i));
    number = arith::DivFOp::create(b, loc, number, scale);
    if (cast<FloatType>(precise).getWidth() < 32)
      number = Granularity::toF32(b, loc, arith::TruncFOp::create(b, loc, precise, number));
    number = math::RoundEvenOp::create(b, loc, number);
    if (zero)
      number = arith::AddFOp::create(b, loc, number, arith::SIToFPOp::create(b, loc, b.getF32Type(), zero));
    number = arith::MinNumFOp::create(b, loc, arith::MaxNumFOp::create(b, loc, number, real(least)), real(most));
    Value whole = arith::FPToSIOp::create(b, loc, b.getI32Type(), number);
    return arith::TruncIOp::create(b, loc, element, whole);
  }));
  return success();
}

} // namespace

void populateQuantizeLinearLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::DequantizeLinearOp>(lowerDequantize);
  registry.add<onnx::QuantizeLinearOp>(lowerQuantize);
}

} // namespace farskip
