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

Value KernelBuilder::sum(Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getDimSize(0);
  for (; lanes > 1; lanes /= 2) {
    auto half = [&](int64_t first) -> Value {
      return vector::ExtractStridedSliceOp::create(b, loc, vector, ArrayRef<int64_t>{first},
                                                   ArrayRef<int64_t>{lanes / 2}, ArrayRef<int64_t>{1});
    };
    vector = addf(half(0), half(lanes / 2));
  }
  return vector::ExtractOp::create(b, loc, vector, 0);
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

std::pair<OwningOpRef<func::FuncOp>, Block *> farskip::startKernel(OpBuilder &builder, Operation *op) {
  SmallVector<Type> types(2, builder.getIndexType());
  llvm::append_range(types, op->getOperandTypes());
  OwningOpRef<func::FuncOp> kernel =
      func::FuncOp::create(builder.getUnknownLoc(), "kernel", builder.getFunctionType(types, {}));
  kernel->setPrivate();
  Block *body = kernel->addEntryBlock();
  builder.setInsertionPointToEnd(body);
  builder.setInsertionPoint(func::ReturnOp::create(builder, builder.getUnknownLoc()));
  return {std::move(kernel), body};
}

Value farskip::kernelArgument(Operation *op, Block &body, Value operand) {
  for (OpOperand &candidate : op->getOpOperands())
    if (operand && candidate.get() == operand)
      return body.getArgument(2 + candidate.getOperandNumber());
  return {};
}
