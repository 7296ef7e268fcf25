// Lowering of Slice.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/IndexMath.h"

using namespace mlir;

namespace farskip {

namespace {

/// Where a slice begins and how many elements it takes, by the rules of the standard.
struct Bounds {
  Value start, step, count;
};

Bounds bounds(OnnxLowering &to, Value extent, Value start, Value end, Value step) {
  using P = arith::CmpIPredicate;
  Value zero = to.index(0), one = to.index(1), minusOne = to.index(-1);
  Value last = compute<arith::SubIOp>(to, extent, one);
  Value backwards = compare(to, P::slt, step, zero);
  auto wrap = [&](Value at) {
    // Far outside stays outside: adding the extent to the least number does not wrap.
    Value low = compute<arith::SubIOp>(to, compute<arith::SubIOp>(to, zero, extent), one);
    at = compute<arith::MaxSIOp>(to, at, low);
    return select(to, compare(to, P::slt, at, zero), compute<arith::AddIOp>(to, at, extent), at);
  };
  auto clamp = [&](Value at, Value low, Value high) {
    return compute<arith::MaxSIOp>(to, compute<arith::MinSIOp>(to, at, high), low);
  };
  Value from = wrap(start), until = wrap(end);
  Value forwardFrom = clamp(from, zero, extent), forwardUntil = clamp(until, zero, extent);
  Value backFrom = clamp(from, compute<arith::MinSIOp>(to, zero, last), last), backUntil = clamp(until, minusOne, last);
  from = select(to, backwards, backFrom, forwardFrom);
  until = select(to, backwards, backUntil, forwardUntil);
  Value span = select(to, backwards, compute<arith::SubIOp>(to, from, until), compute<arith::SubIOp>(to, until, from));
  Value size = select(to, backwards, compute<arith::SubIOp>(to, zero, step), step);
  size = compute<arith::MaxSIOp>(to, size, one);
  Value steps = compute<arith::CeilDivSIOp>(to, span, size);
  return {from, step, compute<arith::MaxSIOp>(to, steps, zero)};
}

/// Element by element; an axis without a start is taken whole.
Value pick(onnx::SliceOp op, OnnxLowering &to, ArrayRef<OpFoldResult> sizes, ArrayRef<Value> starts,
           ArrayRef<Value> steps) {
  Value data = to.value(op.getData());
  to.checkSize(sizes);
  return to.generate(sizes, to.type(op.getOutput()).getElementType(),
                     [&](OpBuilder &in, Location at, ArrayRef<Value> indices) -> Value {
                       SmallVector<Value> from(indices);
                       for (auto [i, start, step] : llvm::zip(from, starts, steps))
                         if (start)
                           i = arith::AddIOp::create(in, at, start, arith::MulIOp::create(in, at, i, step));
                       return tensor::ExtractOp::create(in, at, data, from);
                     });
}

/// Each axis has a start, an end and a step, which are the last ones given for it.
LogicalResult lowerSliceByRun(onnx::SliceOp op, OnnxLowering &to) {
  Dims input(to.shapes.shape(op.getData()));
  int64_t rank = input.size();
  Value zero = to.index(0), one = to.index(1), count = to.sizeValue(to.shapes.shape(op.getStarts())[0]);
  for (Value other : {op.getEnds(), op.getAxes(), op.getSteps()}) {
    if (!other || to.shapes.shape(other)[0] == to.shapes.shape(op.getStarts())[0])
      continue;
    Value length = to.sizeValue(to.shapes.shape(other)[0]);
    to.check(compare(to, arith::CmpIPredicate::eq, length, count),
             "starts, ends, axes and steps have different lengths: {0} and {1}", {count, length});
  }
  Value all = to.index(rank);
  to.check(compare(to, arith::CmpIPredicate::sle, count, all), "{0} axes are sliced, the input has {1}", {count, all});
  SmallVector<Value> init;
  for (int64_t axis = 0; axis < rank; ++axis)
    init.append({zero, to.sizeValue(input[axis]), one});
  SmallVector<Value> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    axes.push_back(to.index(axis));
  SmallVector<Value> found =
      to.loops(count, init, [&](OpBuilder &in, Location at, ArrayRef<Value> i, ValueRange carried) {
        auto read = [&](Value onnx) -> Value {
          Value number = tensor::ExtractOp::create(in, at, to.value(onnx), i);
          return arith::IndexCastOp::create(in, at, in.getIndexType(), number);
        };
        Value axis = i[0], step = op.getSteps() ? read(op.getSteps()) : one;
        if (op.getAxes()) {
          Value number = read(op.getAxes());
          axis = select(to, compare(to, arith::CmpIPredicate::slt, number, zero),
                        compute<arith::AddIOp>(to, number, all), number);
          Value inside = compute<arith::AndIOp>(to, compare(to, arith::CmpIPredicate::sge, axis, zero),
                                                compare(to, arith::CmpIPredicate::slt, axis, all));
          to.check(inside, "axis {0} is outside the rank {1}", {number, all});
        }
        to.check(compare(to, arith::CmpIPredicate::ne, step, zero), "step 0 along axis {0}", {axis});
        Value given[] = {read(op.getStarts()), read(op.getEnds()), step};
        SmallVector<Value> next;
        for (int64_t k = 0; k < rank; ++k) {
          Value hit = compare(to, arith::CmpIPredicate::eq, axis, axes[k]);
          for (auto [j, value] : llvm::enumerate(given))
            next.push_back(select(to, hit, value, carried[3 * k + j]));
        }
        return next;
      });
  SmallVector<Value> starts, steps;
  SmallVector<OpFoldResult> sizes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    Bounds part = bounds(to, to.sizeValue(input[axis]), found[3 * axis], found[3 * axis + 1], found[3 * axis + 2]);
    starts.push_back(part.start);
    steps.push_back(part.step);
    sizes.push_back(part.count);
  }
  to.set(op.getOutput(), pick(op, to, sizes, starts, steps));
  return success();
}

LogicalResult lowerSlice(onnx::SliceOp op, OnnxLowering &to) {
  if (!to.shapes.shape(op.getStarts())[0].constant() || (op.getAxes() && !to.shapes.constants(op.getAxes())))
    return lowerSliceByRun(op, to);
  OpBuilder &b = to.builder;
  Dims input(to.shapes.shape(op.getData())), dims(to.shapes.shape(op.getOutput()));
  int64_t rank = input.size(), count = *to.shapes.shape(op.getStarts())[0].constant();
  SmallVector<int64_t> axes;
  if (op.getAxes())
    axes = *to.shapes.constants(op.getAxes());
  else
    for (int64_t i = 0; i < count; ++i)
      axes.push_back(i);
  SmallVector<Value> starts(rank), steps(rank);
  SmallVector<OpFoldResult> sizes(rank);
  bool forward = true;
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    Value step = op.getSteps() ? element(to, op.getSteps(), i) : to.index(1);
    std::optional<int64_t> known = 1;
    if (op.getSteps()) {
      const Dims *tracked = to.shapes.contents(op.getSteps());
      known = tracked ? (*tracked)[i].constant() : std::nullopt;
      if (!known)
        to.check(compare(to, arith::CmpIPredicate::ne, step, to.index(0)), "step 0 along axis " + Twine(axis));
    }
    forward &= known && *known > 0;
    Bounds found =
        bounds(to, to.sizeValue(input[axis]), element(to, op.getStarts(), i), element(to, op.getEnds(), i), step);
    starts[axis] = found.start;
    steps[axis] = found.step;
    sizes[axis] = isOwn(to, dims[axis], op.getOutput()) ? OpFoldResult(found.count) : to.size(dims[axis]);
  }
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!sizes[axis])
      sizes[axis] = to.size(dims[axis]);
  if (to.shapes.elements(op.getOutput()).isConstant(0) || to.shapes.elements(op.getData()).isConstant(0)) {
    Type element = to.type(op.getOutput()).getElementType();
    to.set(op.getOutput(), tensor::EmptyOp::create(b, to.loc(), sizes, element));
    return success();
  }
  if (forward) {
    SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), strides(rank, b.getIndexAttr(1));
    for (int64_t axis = 0; axis < rank; ++axis)
      if (starts[axis]) {
        offsets[axis] = getAsOpFoldResult(starts[axis]);
        strides[axis] = getAsOpFoldResult(steps[axis]);
      }
    to.set(op.getOutput(),
           tensor::ExtractSliceOp::create(b, to.loc(), to.value(op.getData()), offsets, sizes, strides));
    return success();
  }
  to.set(op.getOutput(), pick(op, to, sizes, starts, steps));
  return success();
}

} // namespace

void populateSliceLowerings(OnnxLoweringRegistry &registry) { registry.add<onnx::SliceOp>(lowerSlice); }

} // namespace farskip
