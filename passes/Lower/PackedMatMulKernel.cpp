// The kernel that multiplies rows with packed weights on the CPU: numbers are unpacked in registers, 16 bytes at a
// time. SPDX-License-Identifier: Apache-2.0
#include "passes/Lower/PackedMatMulKernel.h"
#include "passes/Lower/KernelBuilder.h"

using namespace mlir;

namespace farskip {

namespace {

/// Rows of a register tile.
constexpr int64_t kTile = 4;

struct Kernel : KernelBuilder {
  Kernel(OpBuilder &builder, moe::PackedMatMulOp op, Block &body) : KernelBuilder(builder) {
    a = kernelArgument(op, body, op.getA()), weights = kernelArgument(op, body, op.getWeights());
    scales = kernelArgument(op, body, op.getScales()), zeros = kernelArgument(op, body, op.getZeros());
    out = body.getArguments().back();
    auto type = cast<MemRefType>(weights.getType());
    bits = op.getBits(), pack = 8 / bits, lanes = op.lanes();
    blocks = type.getDimSize(1), groups = type.getDimSize(2) / lanes;
    bytes = VectorType::get({lanes}, b.getI8Type());
    numbers = VectorType::get({lanes}, b.getF32Type());
    zero = index(0);
  }

  void build(Value begin, Value end) {
    Value rows = dim(a, 0), full = mul(div(rows, index(kTile)), index(kTile));
    auto columns = [&](Value row, int64_t tile) {
      loop(begin, end, 1, [&](Value column) { product(row, tile, column); });
    };
    loop(zero, full, kTile, [&](Value row) { columns(row, kTile); });
    loop(full, rows, 1, [&](Value row) { columns(row, 1); });
  }

private:
  /// The lowest `bits` of i8 numbers, shifted down by `shift`.
  Value unpack(Value packed, Value shift) {
    Value low = arith::ShRUIOp::create(b, loc, packed, shift);
    if (bits == 8)
      return low;
    TypedAttr mask = b.getI8IntegerAttr((1 << bits) - 1);
    if (auto vector = dyn_cast<VectorType>(packed.getType()))
      mask = DenseElementsAttr::get(vector, mask);
    return arith::AndIOp::create(b, loc, low, arith::ConstantOp::create(b, loc, mask));
  }
  Value toFloat(Value number) {
    Type type = b.getF32Type();
    if (auto vector = dyn_cast<VectorType>(number.getType()))
      type = vector.clone(type);
    return arith::UIToFPOp::create(b, loc, type, number);
  }

  Value zeroPoint(Value column, Value block) {
    if (!zeros)
      return real(b.getF32Type(), 1 << (bits - 1));
    if (isa<FloatType>(cast<MemRefType>(zeros.getType()).getElementType()))
      return convert(load(zeros, {column, block}), b.getF32Type());
    Value byte = load(zeros, {column, div(block, index(pack))});
    Value shift = arith::IndexCastOp::create(b, loc, b.getI8Type(), mul(rem(block, index(pack)), index(bits)));
    return toFloat(unpack(byte, shift));
  }

  /// A tile of rows times one column of the result. Two sums for each element hide the latency of the FMAs.
  void product(Value row, int64_t tile, Value column) {
    int64_t chains = std::min<int64_t>(pack, 2);
    SmallVector<Value> sums(tile * chains, real(numbers, 0));
    sums = loop(zero, index(blocks), 1, sums, [&](Value block, ValueRange outer) {
      Value scale = broadcast(numbers, convert(load(scales, {column, block}), b.getF32Type()));
      Value point = broadcast(numbers, zeroPoint(column, block));
      return loop(zero, index(groups), 1, outer, [&](Value group, ValueRange inner) {
        SmallVector<Value> next(inner);
        Value packed = load(bytes, weights, {column, block, mul(group, index(lanes))});
        Value first = mul(add(mul(block, index(groups)), group), index(pack * lanes));
        for (int64_t part = 0; part < pack; ++part) {
          Value shift =
              arith::ConstantOp::create(b, loc, DenseElementsAttr::get(bytes, static_cast<int8_t>(bits * part)));
          Value weight = mulf(subf(toFloat(unpack(packed, shift)), point), scale);
          for (int64_t i = 0; i < tile; ++i) {
            Value &sum = next[i * chains + part % chains];
            sum = fma(load(numbers, a, {add(row, index(i)), add(first, index(part * lanes))}), weight, sum);
          }
        }
        return next;
      });
    });
    for (int64_t i = 0; i < tile; ++i) {
      Value all = sums[i * chains];
      if (chains == 2)
        all = addf(all, sums[i * chains + 1]);
      store(sum(all), out, {add(row, index(i)), column});
    }
  }

  Value a, weights, scales, zeros, out, zero;
  int64_t bits, pack, lanes, blocks, groups;
  VectorType bytes, numbers;
};

} // namespace

OwningOpRef<func::FuncOp> buildPackedMatMulKernel(moe::PackedMatMulOp op) {
  OpBuilder builder(op.getContext());
  auto [kernel, body] = startKernel(builder, op);
  Kernel(builder, op, *body).build(body->getArgument(0), body->getArgument(1));
  return std::move(kernel);
}

} // namespace farskip
