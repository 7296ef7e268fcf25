// Lowering of MatMulBnb4.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/AttentionCore.h"

using namespace mlir;

namespace farskip {

/// What the 16 codes stand for, as bitsandbytes defines them.
static constexpr float kFp4[16] = {
    0.0f,  0.00520833333f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
    -0.0f, -0.00520833333f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
static constexpr float kNf4[16] = {-1.0f,
                                   -0.6961928009986877f,
                                   -0.5250730514526367f,
                                   -0.39491748809814453f,
                                   -0.28444138169288635f,
                                   -0.18477343022823334f,
                                   -0.09105003625154495f,
                                   0.0f,
                                   0.07958029955625534f,
                                   0.16093020141124725f,
                                   0.24611230194568634f,
                                   0.33791524171829224f,
                                   0.44070982933044434f,
                                   0.5626170039176941f,
                                   0.7229568362236023f,
                                   1.0f};

static LogicalResult lowerMatMulBnb4(onnx::MsMatMulBnb4Op op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Type f32 = b.getF32Type(), element = to.type(op.getA()).getElementType();
  Dims a(to.shapes.shape(op.getA())), y(to.shapes.shape(op.getY()));
  int64_t n = op.getN(), k = op.getK();
  requireEqual(to, a.back(), op.getTransB() ? k : n, "the number of columns of A");
  auto flat = [&](Value onnx) { return to.reshape(to.value(onnx), to.shapes.shape(onnx), {to.shapes.elements(onnx)}); };
  Value packed = flat(op.getB()), scales = flat(op.getAbsmax());
  ArrayRef<float> codes(op.getQuantType() == 0 ? kFp4 : kNf4, 16);
  Value table = arith::ConstantOp::create(b, to.loc(), DenseElementsAttr::get(RankedTensorType::get({16}, f32), codes));
  // K × N for the product with the transpose: the right operand of a matrix product either way.
  Dims weights = op.getTransB() ? Dims{SymbolicExpr(k), SymbolicExpr(n)} : Dims{SymbolicExpr(n), SymbolicExpr(k)};
  Value right = to.generate(weights, element, [&](OpBuilder &in, Location loc, ArrayRef<Value> i) -> Value {
    auto index = [&](int64_t number) -> Value { return arith::ConstantIndexOp::create(in, loc, number); };
    Value row = i[op.getTransB() ? 1 : 0], column = i[op.getTransB() ? 0 : 1];
    Value at = arith::AddIOp::create(in, loc, arith::MulIOp::create(in, loc, row, index(k)), column);
    Value byte = tensor::ExtractOp::create(in, loc, packed, ValueRange{arith::DivUIOp::create(in, loc, at, index(2))});
    Value wide = arith::IndexCastUIOp::create(in, loc, in.getIndexType(), byte);
    Value odd = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::ne, arith::RemUIOp::create(in, loc, at, index(2)),
                                      index(0));
    Value code = arith::SelectOp::create(in, loc, odd, arith::RemUIOp::create(in, loc, wide, index(16)),
                                         arith::DivUIOp::create(in, loc, wide, index(16)));
    Value scale = tensor::ExtractOp::create(in, loc, scales,
                                            ValueRange{arith::DivUIOp::create(in, loc, at, index(op.getBlockSize()))});
    if (scale.getType() != f32)
      scale = arith::ExtFOp::create(in, loc, f32, scale);
    Value number = tensor::ExtractOp::create(in, loc, table, ValueRange{code});
    number = arith::MulFOp::create(in, loc, number, scale);
    return element == f32 ? number : arith::TruncFOp::create(in, loc, element, number).getResult();
  });
  Value left = to.value(op.getA());
  Dims matrixA = a, matrixY = y;
  if (a.size() == 1) {
    matrixA.insert(matrixA.begin(), SymbolicExpr(1));
    matrixY.insert(matrixY.begin(), SymbolicExpr(1));
    left = to.reshape(left, a, matrixA);
  }
  to.set(op.getY(), to.reshape(to.matmul(left, matrixA, right, weights, matrixY), matrixY, y));
  return success();
}

void populateMatMulBnb4Lowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::MsMatMulBnb4Op>(lowerMatMulBnb4);
}

} // namespace farskip
