// Lowering of the operators on quantised weights.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "passes/Raise/AttentionCore.h"

using namespace mlir;

namespace farskip {

namespace {

/// `bits` bits of a byte from `shift` on, as a float.
Value unpackNumber(OpBuilder &b, Location loc, Value byte, Value place, int64_t bits, Type real) {
  Value width = arith::ConstantIndexOp::create(b, loc, bits);
  Value shift = arith::IndexCastOp::create(b, loc, b.getI8Type(), arith::MulIOp::create(b, loc, place, width));
  Value low = arith::ShRUIOp::create(b, loc, byte, shift);
  Value mask = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(bits == 8 ? -1 : (1 << bits) - 1));
  return arith::UIToFPOp::create(b, loc, real, arith::AndIOp::create(b, loc, low, mask));
}

/// The rows as f32 in the order of the packed numbers (see moe.packed_matmul), zeros behind column K.
Value arrangeRows(OnnxLowering &to, Value rows, const SymbolicExpr &count, int64_t k, int64_t blocks, int64_t bytes,
                  int64_t pack) {
  int64_t lanes = moe::PackedMatMulOp::lanesOf(bytes), groups = bytes / lanes;
  Dims dims{count, SymbolicExpr(blocks), SymbolicExpr(groups), SymbolicExpr(pack), SymbolicExpr(lanes)};
  bool exact = blocks * bytes * pack == k;
  Type f32 = to.builder.getF32Type();
  Value arranged = to.generate(dims, f32, [&](OpBuilder &b, Location loc, ArrayRef<Value> i) -> Value {
    auto number = [&](int64_t n) -> Value { return arith::ConstantIndexOp::create(b, loc, n); };
    auto scaled = [&](Value x, int64_t by, Value y) -> Value {
      return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, x, number(by)), y);
    };
    Value byte = scaled(scaled(i[1], groups, i[2]), lanes, i[4]), column = scaled(byte, pack, i[3]), safe = column;
    Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, column, number(k));
    if (!exact)
      safe = arith::SelectOp::create(b, loc, inside, column, number(0));
    Value x = tensor::ExtractOp::create(b, loc, rows, ValueRange{i[0], safe});
    if (x.getType() != f32)
      x = arith::ExtFOp::create(b, loc, f32, x);
    if (exact)
      return x;
    return arith::SelectOp::create(b, loc, inside, x, arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)));
  });
  return to.reshape(arranged, dims, {count, SymbolicExpr(blocks * bytes * pack)});
}

LogicalResult lowerMatMulNBits(onnx::MsMatMulNBitsOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  int64_t k = op.getK(), n = op.getN(), pack = 8 / op.getBits(), bytes = op.getBlockSize() / pack;
  int64_t blocks = llvm::divideCeil(k, op.getBlockSize());
  Dims dims(to.shapes.shape(op.getA()));
  requireEqual(to, dims.back(), k, "the number of columns of A");
  SymbolicExpr rows(1);
  for (const SymbolicExpr &dim : ArrayRef(dims).drop_back())
    rows = rows * dim;
  Dims product{rows, SymbolicExpr(n)};
  Value y;
  if (to.shapes.elements(op.getB()).isConstant(0)) {
    // A weight that was left out.
    y = to.filled(product, to.scalar(b.getF32Type(), 0));
  } else {
    auto shaped = [&](Value onnx, ArrayRef<int64_t> shape) {
      return to.reshape(to.value(onnx), to.shapes.shape(onnx), Dims(shape.begin(), shape.end()));
    };
    Value a = to.reshape(to.value(op.getA()), dims, {rows, SymbolicExpr(k)});
    Value zeros;
    if (op.getZeroPoints()) {
      bool packed = !isa<FloatType>(to.type(op.getZeroPoints()).getElementType());
      zeros = shaped(op.getZeroPoints(), {n, packed ? int64_t(llvm::divideCeil(blocks * op.getBits(), 8)) : blocks});
    }
    Value out = to.empty(product, b.getF32Type());
    y = moe::PackedMatMulOp::create(b, to.loc(), out.getType(), arrangeRows(to, a, rows, k, blocks, bytes, pack),
                                    shaped(op.getB(), {n, blocks, bytes}), shaped(op.getScales(), {n, blocks}), zeros,
                                    out, op.getBits())
            .getResult();
  }
  Type element = to.type(op.getY()).getElementType();
  if (op.getBias()) {
    Dims wide{SymbolicExpr(n)};
    Value bias = to.reshape(to.value(op.getBias()), to.shapes.shape(op.getBias()), wide);
    y = to.elementwise(
        {{y, product}, {bias, wide}}, product, element, [&](OpBuilder &in, Location loc, ValueRange x) -> Value {
          Value add = x[1];
          if (add.getType() != x[0].getType())
            add = arith::ExtFOp::create(in, loc, x[0].getType(), add);
          Value sum = arith::AddFOp::create(in, loc, x[0], add);
          return sum.getType() == element ? sum : arith::TruncFOp::create(in, loc, element, sum).getResult();
        });
  } else {
    y = to.convertFloat(y, product, element);
  }
  to.set(op.getY(), to.reshape(y, product, to.shapes.shape(op.getY())));
  return success();
}

LogicalResult lowerGatherBlockQuantized(onnx::MsGatherBlockQuantizedOp op, OnnxLowering &to) {
  Dims data(to.shapes.shape(op.getData())), scaleDims(to.shapes.shape(op.getScales()));
  Type stored = getElementTypeOrSelf(op.getData().getType());
  bool packed = stored.isUnsignedInteger(8);
  int64_t rank = data.size(), indexRank = to.shapes.rank(op.getIndices()), bits = op.getBits();
  int64_t pack = packed ? 8 / bits : 1,
          gather = op.getGatherAxis() < 0 ? op.getGatherAxis() + rank : op.getGatherAxis();
  int64_t quantize = op.getQuantizeAxis() < 0 ? op.getQuantizeAxis() + rank : op.getQuantizeAxis();
  Dims numbers = data;
  numbers.back() = numbers.back() * pack;
  for (int64_t axis = 0; axis < rank; ++axis) {
    SymbolicExpr wanted = axis == quantize ? to.shapes.ceilDiv(numbers[axis], op.getBlockSize()) : numbers[axis];
    requireEqual(to, scaleDims[axis], wanted, "the extent of scales along axis " + Twine(axis));
  }
  if (op.getZeroPoints()) {
    Dims zeroDims(to.shapes.shape(op.getZeroPoints())), wanted = scaleDims;
    if (packed)
      wanted.back() = to.shapes.ceilDiv(wanted.back() * bits, 8);
    for (int64_t axis = 0; axis < rank; ++axis)
      requireEqual(to, zeroDims[axis], wanted[axis], "the extent of zero_points along axis " + Twine(axis));
  }
  Value table = to.value(op.getData()), indices = to.value(op.getIndices()), scales = to.value(op.getScales());
  Value zeros = op.getZeroPoints() ? to.value(op.getZeroPoints()) : Value();
  Value rows = to.sizeValue(data[gather]),
        some = arith::CmpIOp::create(to.builder, to.loc(), arith::CmpIPredicate::sgt, rows, to.index(0));
  to.check(some, "data has no rows");
  Type element = to.type(op.getOutput()).getElementType(), f32 = to.builder.getF32Type();
  to.set(op.getOutput(),
         to.generate(
             to.shapes.shape(op.getOutput()), element, [&](OpBuilder &b, Location loc, ArrayRef<Value> i) -> Value {
               auto number = [&](int64_t n) -> Value { return arith::ConstantIndexOp::create(b, loc, n); };
               auto compare = [&](arith::CmpIPredicate kind, Value x, Value y) -> Value {
                 return arith::CmpIOp::create(b, loc, kind, x, y);
               };
               Value row = tensor::ExtractOp::create(b, loc, indices, i.slice(gather, indexRank));
               row = OnnxLowering::wrapIndex(b, loc, row, rows);
               Value inside = arith::AndIOp::create(b, loc, compare(arith::CmpIPredicate::sge, row, number(0)),
                                                    compare(arith::CmpIPredicate::slt, row, rows));
               SmallVector<Value> where(i.take_front(gather));
               where.push_back(arith::SelectOp::create(b, loc, inside, row, number(0)));
               llvm::append_range(where, i.drop_front(gather + indexRank));
               auto numberAt = [&](Value tensor, SmallVector<Value> at) -> Value {
                 if (!packed) {
                   Value whole = tensor::ExtractOp::create(b, loc, tensor, at);
                   if (stored.isUnsignedInteger())
                     return arith::UIToFPOp::create(b, loc, f32, whole);
                   return arith::SIToFPOp::create(b, loc, f32, whole);
                 }
                 Value place = arith::RemUIOp::create(b, loc, at.back(), number(pack));
                 at.back() = arith::DivUIOp::create(b, loc, at.back(), number(pack));
                 return unpackNumber(b, loc, tensor::ExtractOp::create(b, loc, tensor, at), place, bits, f32);
               };
               Value x = numberAt(table, where);
               SmallVector<Value> block = where;
               block[quantize] = arith::DivUIOp::create(b, loc, where[quantize], number(op.getBlockSize()));
               Value zero =
                   zeros
                       ? numberAt(zeros, block)
                       : arith::ConstantOp::create(b, loc, b.getF32FloatAttr(packed ? 1 << (bits - 1) : 0)).getResult();
               Value scale = tensor::ExtractOp::create(b, loc, scales, block);
               if (scale.getType() != f32)
                 scale = arith::ExtFOp::create(b, loc, f32, scale);
               Value y = arith::MulFOp::create(b, loc, arith::SubFOp::create(b, loc, x, zero), scale);
               y = arith::SelectOp::create(b, loc, inside, y, arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)));
               return y.getType() == element ? y : arith::TruncFOp::create(b, loc, element, y).getResult();
             }));
  return success();
}

} // namespace

void populateQuantisedLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::MsMatMulNBitsOp>(lowerMatMulNBits);
  registry.add<onnx::MsGatherBlockQuantizedOp>(lowerGatherBlockQuantized);
}

} // namespace farskip
