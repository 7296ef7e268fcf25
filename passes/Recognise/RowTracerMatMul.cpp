// Products of rows with an expert's weights.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/RowTracer.h"
#include "passes/Recognise/Structure.h"

using namespace farskip;
using namespace mlir;

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

std::optional<Value> RowTracer::product(const RowValue &left, const RowValue &right, bool transposed) {
  if (!left.rows || right.rows || rankOf(left.value) != 2 || rankOf(right.value) != 2)
    return std::nullopt;
  Value weight = transposed ? graph.transpose(right.value, {1, 0}) : right.value;
  return graph.binary("MatMul", left.value, weight);
}

/// Merges the axes before the last two, as numpy broadcasts them.
static std::optional<Axes> batchAxes(ArrayRef<Axis> left, ArrayRef<Axis> right) {
  if (left.size() < right.size())
    std::swap(left, right);
  Axes merged(left.drop_back(2));
  size_t lead = left.size() - right.size();
  for (auto [i, axis] : llvm::enumerate(right.drop_back(2))) {
    Axis &into = merged[lead + i];
    if (axis == Axis::Feature || into == Axis::Feature || (axis != Axis::Unit && into != Axis::Unit && axis != into))
      return std::nullopt;
    if (into == Axis::Unit)
      into = axis;
  }
  return merged;
}

std::optional<RowValue> RowTracer::matmul(ArrayRef<Operation *> ops) {
  std::optional<RowValue> left = traceOperand(ops, 0);
  std::optional<RowValue> right = left ? traceOperand(ops, 1) : std::nullopt;
  if (!right)
    return std::nullopt;
  Operation *op = ops.front();
  if (left->axes.size() < 2 || right->axes.size() < 2)
    return fail(op, "multiplies vectors");
  std::optional<Axes> axes = batchAxes(left->axes, right->axes);
  if (!axes)
    return fail(op, "combines different rows");
  Axis m = left->axes.end()[-2], k = left->axes.back(), k2 = right->axes.end()[-2], n = right->axes.back();
  if (k != Axis::Feature || k2 != Axis::Feature)
    return fail(op, "does not sum over features");
  axes->append({m, n});
  std::optional<Value> value;
  if (left->rows && m != Axis::Feature && n == Axis::Feature)
    value = product(*left, *right, false);
  else if (right->rows && n != Axis::Feature && m == Axis::Feature)
    value = product(*right, *left, true);
  if (!value)
    return fail(op, "is no product of rows with a weight of one expert");
  return RowValue{*value, *axes, true};
}

std::optional<RowValue> RowTracer::gemm(ArrayRef<Operation *> ops) {
  auto op = cast<onnx::GemmOp>(ops.front());
  std::optional<RowValue> left = traceOperand(ops, 0);
  std::optional<RowValue> right = left ? traceOperand(ops, 1) : std::nullopt;
  if (!right)
    return std::nullopt;
  if (op.getTransA() || left->axes.size() != 2 || left->axes[0] == Axis::Feature || right->axes.size() != 2 ||
      left->axes[1] != Axis::Feature)
    return fail(op, "is no product of rows with a weight of one expert");
  std::optional<Value> value = product(*left, *right, op.getTransB() != 0);
  if (!value)
    return fail(op, "is no product of rows with a weight of one expert");
  Type element = getElementTypeOrSelf(value->getType());
  auto scaled = [&](Value term, APFloat factor) {
    return factor.isExactlyValue(1.0) ? term
                                      : graph.binary("Mul", term, graph.number(element, factor.convertToFloat()));
  };
  Value sum = scaled(*value, op.getAlpha());
  if (op.getC()) {
    std::optional<RowValue> bias = traceOperand(ops, 2);
    if (!bias || bias->rows || rankOf(bias->value) > 1)
      return fail(op, "adds a bias that is not one of an expert");
    sum = graph.binary("Add", sum, scaled(bias->value, op.getBeta()));
  }
  return RowValue{sum, {left->axes[0], Axis::Feature}, true};
}

std::optional<RowValue> RowTracer::packedMatmul(ArrayRef<Operation *> ops) {
  Operation *op = ops.front();
  SmallVector<Value> values;
  std::optional<RowValue> rows;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    std::optional<RowValue> operand = traceOperand(ops, i);
    if (!operand)
      return std::nullopt;
    if (operand->rows != (i == 0) || (i == 0 && rankOf(operand->value) != 2))
      return fail(op, "is no product of rows with a weight of one expert");
    if (i == 0)
      rows = operand;
    values.push_back(operand->value);
  }
  if (rows->axes.back() != Axis::Feature)
    return fail(op, "does not sum over features");
  return RowValue{emit(op, values), rows->axes, true};
}
