// Shapes of the operators on quantised weights.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

/// Fails unless `value` has `wanted` elements.
static LogicalResult checkElements(Operation *op, SymbolicShapes &shapes, Value value, StringRef what, int64_t wanted) {
  if (shapes.elements(value).isConstant(wanted))
    return success();
  return op->emitOpError() << what << " has shape " << shapes.str(shapes.shape(value)) << ", wanted " << wanted
                           << " elements";
}

/// Fails unless scale (and zero point) fit x: scalars, a vector along `axis`, or x's shape with blocks along `axis`.
static LogicalResult checkGranularity(Operation *op, SymbolicShapes &shapes, Value x, Value scale, Value zero,
                                      int64_t axis, int64_t block) {
  Dims dims(shapes.shape(x)), have(shapes.shape(scale));
  if (zero) {
    Dims other(shapes.shape(zero));
    bool same = other.size() == have.size() && llvm::none_of(llvm::zip(other, have), [](auto pair) {
                  return std::get<0>(pair).isNever(std::get<1>(pair));
                });
    if (!same)
      return op->emitOpError() << "zero point of shape " << shapes.str(other) << " and scale of shape "
                               << shapes.str(have) << " differ";
  }
  if (block < 0)
    return op->emitOpError() << "block_size is " << block << ", wanted 0 or more";
  if (have.empty() || (have.size() == 1 && have[0].isConstant(1) && block == 0))
    return success();
  FailureOr<int64_t> along = normalizeAxis(op, axis, dims.size());
  if (failed(along))
    return failure();
  bool fits = block == 0 ? have.size() == 1 && !have[0].isNever(dims[*along]) : have.size() == dims.size();
  if (fits && block)
    for (auto [i, dim] : llvm::enumerate(dims))
      fits &= !have[i].isNever(static_cast<int64_t>(i) == *along ? shapes.ceilDiv(dim, block) : dim);
  if (fits)
    return success();
  return op->emitOpError() << "scale of shape " << shapes.str(have) << " does not fit x of shape " << shapes.str(dims)
                           << ", axis " << axis << " and block_size " << block;
}

LogicalResult DequantizeLinearOp::inferShapes(SymbolicShapes &shapes) {
  Type element = elementType(getX()), result = elementType(getXScale());
  if (!isa<IntegerType>(element) || element.isInteger(1) || element.getIntOrFloatBitWidth() > 32)
    return emitOpError() << "x has element type " << element << ", wanted an integer of at most 32 bits";
  if (!isa<FloatType>(result) || (getXZeroPoint() && elementType(getXZeroPoint()) != element))
    return emitOpError() << "the scale must be a float and the zero point have the type of x";
  if (int64_t wanted = getOutputDtype()) {
    Builder b(getContext());
    result = wanted == 1    ? Type(b.getF32Type())
             : wanted == 10 ? b.getF16Type()
             : wanted == 16 ? b.getBF16Type()
                            : Type();
    if (!result)
      return emitOpError() << "output_dtype " << wanted << " is not float, float16 or bfloat16";
  }
  if (failed(checkGranularity(*this, shapes, getX(), getXScale(), getXZeroPoint(), getAxis(), getBlockSize())))
    return failure();
  shapes.set(getY(), result, Dims(shapes.shape(getX())));
  return success();
}

LogicalResult QuantizeLinearOp::inferShapes(SymbolicShapes &shapes) {
  Type scale = elementType(getYScale()), x = elementType(getX());
  if (!isa<FloatType>(scale) || (!isa<FloatType>(x) && !x.isSignlessInteger(32)))
    return emitOpError() << "x must be a float or int32 and the scale a float";
  Builder b(getContext());
  Type result = getYZeroPoint() ? elementType(getYZeroPoint()) : b.getIntegerType(8, /*isSigned=*/false);
  if (!getYZeroPoint() && getOutputDtype()) {
    int64_t wanted = getOutputDtype();
    result = wanted == 2   ? b.getIntegerType(8, false)
             : wanted == 3 ? b.getI8Type()
             : wanted == 4 ? b.getIntegerType(16, false)
             : wanted == 5 ? b.getI16Type()
                           : Type();
    if (!result)
      return emitOpError() << "output_dtype " << wanted << " is not uint8, int8, uint16 or int16";
  }
  if (!isa<IntegerType>(result) || result.isInteger(1) || result.getIntOrFloatBitWidth() > 16)
    return emitOpError() << "the result's element type " << result << " is no integer of at most 16 bits";
  if (int64_t precision = getPrecision(); precision && precision != 1 && precision != 10 && precision != 16)
    return emitOpError() << "precision " << precision << " is not float, float16 or bfloat16";
  if (failed(checkGranularity(*this, shapes, getX(), getYScale(), getYZeroPoint(), getAxis(), getBlockSize())))
    return failure();
  shapes.set(getY(), result, Dims(shapes.shape(getX())));
  return success();
}

LogicalResult MsMatMulNBitsOp::inferShapes(SymbolicShapes &shapes) {
  int64_t k = getK(), n = getN(), block = getBlockSize(), bits = getBits();
  if (bits != 2 && bits != 4 && bits != 8)
    return emitOpError() << "bits is " << bits << ", wanted 2, 4 or 8";
  if (getWeightPrepacked())
    return emitOpError() << "weight_prepacked is " << getWeightPrepacked() << ", wanted 0";
  if (getGIdx())
    return emitOpError() << "g_idx is not supported";
  if (k < 1 || n < 1 || k > (int64_t(1) << 31) || n > (int64_t(1) << 31))
    return emitOpError() << "K is " << k << " and N is " << n << ", wanted 1 to 2^31";
  if (block < 1 || block > (int64_t(1) << 31) || block * bits % 8)
    return emitOpError() << "block_size is " << block << ", which does not fill whole bytes";
  Dims dims(shapes.shape(getA()));
  Type element = elementType(getA());
  if (!isa<FloatType>(element) || element.isF64() || !isa<FloatType>(elementType(getScales())))
    return emitOpError() << "A and scales must be f32, f16 or bf16";
  if (!elementType(getB()).isUnsignedInteger(8))
    return emitOpError() << "B has element type " << elementType(getB()) << ", wanted uint8";
  if (dims.empty() || dims.back().isNever(k))
    return emitOpError() << "A has shape " << shapes.str(dims) << ", wanted " << k << " columns";
  dims.back() = n;
  shapes.set(getY(), element, dims);
  if (shapes.elements(getB()).isConstant(0))
    return success();
  int64_t blocks = llvm::divideCeil(k, block);
  if (failed(checkElements(*this, shapes, getB(), "B", n * blocks * (block * bits / 8))) ||
      failed(checkElements(*this, shapes, getScales(), "scales", n * blocks)))
    return failure();
  if (Value zeros = getZeroPoints()) {
    bool packed = elementType(zeros).isUnsignedInteger(8);
    if (!packed && !isa<FloatType>(elementType(zeros)))
      return emitOpError() << "zero_points have element type " << elementType(zeros) << ", wanted uint8 or a float";
    if (failed(checkElements(*this, shapes, zeros, "zero_points",
                             n * (packed ? llvm::divideCeil(blocks * bits, 8) : blocks))))
      return failure();
  }
  return getBias() ? checkElements(*this, shapes, getBias(), "bias", n) : success();
}

LogicalResult MsMatMulBnb4Op::inferShapes(SymbolicShapes &shapes) {
  int64_t k = getK(), n = getN(), block = getBlockSize();
  if (k < 1 || n < 1 || k > (int64_t(1) << 31) || n > (int64_t(1) << 31) || block < 1)
    return emitOpError() << "K is " << k << ", N is " << n << " and block_size is " << block << ", wanted 1 or more";
  if (getQuantType() != 0 && getQuantType() != 1)
    return emitOpError() << "quant_type is " << getQuantType() << ", wanted 0 or 1";
  Dims dims(shapes.shape(getA()));
  Type element = elementType(getA());
  int64_t columns = getTransB() ? k : n;
  if (!isa<FloatType>(element) || element.isF64() || !isa<FloatType>(elementType(getAbsmax())))
    return emitOpError() << "A and absmax must be f32, f16 or bf16";
  if (!elementType(getB()).isUnsignedInteger(8))
    return emitOpError() << "B has element type " << elementType(getB()) << ", wanted uint8";
  if (dims.empty() || dims.back().isNever(columns))
    return emitOpError() << "A has shape " << shapes.str(dims) << ", wanted " << columns << " columns";
  if (failed(checkElements(*this, shapes, getB(), "B", llvm::divideCeil(n * k, 2))) ||
      failed(checkElements(*this, shapes, getAbsmax(), "absmax", llvm::divideCeil(n * k, block))))
    return failure();
  dims.back() = getTransB() ? n : k;
  shapes.set(getY(), element, dims);
  return success();
}

LogicalResult MsGatherBlockQuantizedOp::inferShapes(SymbolicShapes &shapes) {
  Dims data(shapes.shape(getData())), indices(shapes.shape(getIndices())), scales(shapes.shape(getScales()));
  int64_t rank = data.size(), bits = getBits(), block = getBlockSize();
  if (rank < 1)
    return emitOpError() << "data is a scalar";
  FailureOr<int64_t> gather = normalizeAxis(*this, getGatherAxis(), rank);
  FailureOr<int64_t> quantize = normalizeAxis(*this, getQuantizeAxis(), rank);
  if (failed(gather) || failed(quantize))
    return failure();
  // Bytes hold several numbers; integers of 4 bits are numbers by themselves.
  bool packed = elementType(getData()).isUnsignedInteger(8);
  if (!packed && (!isa<IntegerType>(elementType(getData())) || elementType(getData()).getIntOrFloatBitWidth() != 4))
    return emitOpError() << "data has element type " << elementType(getData()) << ", wanted uint8, uint4 or int4";
  if (bits != 2 && bits != 4 && bits != 8)
    return emitOpError() << "bits is " << bits << ", wanted 2, 4 or 8";
  if (block < 16 || (block & (block - 1)))
    return emitOpError() << "block_size is " << block << ", wanted a power of two from 16 on";
  if (*gather == *quantize || (packed && *gather != 0))
    return emitOpError() << "data of " << elementType(getData()) << " cannot be gathered along axis " << *gather
                         << " and quantised along axis " << *quantize;
  if (!isa<FloatType>(elementType(getScales())))
    return emitOpError() << "scales have element type " << elementType(getScales()) << ", wanted a float";
  if (failed(checkRank(*this, shapes, getScales(), "scales", rank, rank)))
    return failure();
  // The numbers are packed along the last axis.
  if (packed)
    data.back() = data.back() * (8 / bits);
  for (int64_t axis = 0; axis < rank; ++axis) {
    SymbolicExpr wanted = axis == *quantize ? shapes.ceilDiv(data[axis], block) : data[axis];
    if (scales[axis].isNever(wanted))
      return emitOpError() << "scales have shape " << shapes.str(scales) << " for data of " << shapes.str(data)
                           << ", axis " << *quantize << " and block_size " << block;
  }
  if (data[*gather].isConstant(0))
    return emitOpError() << "data has no rows";
  if (Value zeros = getZeroPoints()) {
    if (elementType(zeros) != elementType(getData()))
      return emitOpError() << "zero_points have element type " << elementType(zeros) << ", wanted that of data";
    Dims have(shapes.shape(zeros)), wanted = scales;
    if (packed)
      wanted.back() = shapes.ceilDiv(wanted.back() * bits, 8);
    if (have.size() != wanted.size() ||
        llvm::any_of(llvm::zip(have, wanted), [](auto pair) { return std::get<0>(pair).isNever(std::get<1>(pair)); }))
      return emitOpError() << "zero_points have shape " << shapes.str(have) << ", wanted " << shapes.str(wanted);
  }
  Dims result(data.begin(), data.begin() + *gather);
  result.append(indices);
  result.append(data.begin() + *gather + 1, data.end());
  shapes.set(getOutput(), elementType(getScales()), std::move(result));
  return success();
}

} // namespace farskip::onnx
