// Loops, constants and scratch memory of generated kernels.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Lower/KernelBuilder.h"

using namespace farskip;
using namespace mlir;

Value KernelBuilder::real(Type type, double number) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr value = b.getFloatAttr(element, number);
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(b, loc, value);
}

Value KernelBuilder::convert(Value x, Type element) {
  Type from = getElementTypeOrSelf(x.getType());
  if (from == element)
    return x;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    type = vector.clone(element);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, loc, type, x);
  return arith::TruncFOp::create(b, loc, type, x);
}

Value KernelBuilder::scratch(Value rows, ArrayRef<int64_t> inner, Type element) {
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  shape.append(inner.begin(), inner.end());
  SmallVector<Value> dynamic{rows};
  if (std::optional<int64_t> known = getConstantIntValue(rows)) {
    shape[0] = *known;
    dynamic.clear();
  }
  return memref::AllocaOp::create(b, loc, MemRefType::get(shape, element), dynamic, b.getI64IntegerAttr(64));
}

void KernelBuilder::loop(Value from, Value to, int64_t step, llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, from, to, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

SmallVector<Value> KernelBuilder::loop(Value from, Value to, int64_t step, ValueRange init,
                                       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, from, to, index(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, loc, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}
