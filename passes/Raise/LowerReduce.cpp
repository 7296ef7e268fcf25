// Lowering of reductions, softmax, running sums and Gemm.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/IndexMath.h"
#include "passes/Raise/RuntimeAxes.h"

using namespace mlir;

namespace farskip {

namespace {

enum class Fold { Sum, Mean, Max, Min, Prod, L1, L2, SumSquare, LogSum, LogSumExp };

Value startOf(OnnxLowering &to, Fold fold, Type type, bool natural) {
  if (auto real = dyn_cast<FloatType>(type)) {
    if (fold == Fold::Max || fold == Fold::Min)
      return arith::ConstantOp::create(
          to.builder, to.loc(),
          to.builder.getFloatAttr(real, APFloat::getInf(real.getFloatSemantics(), fold == Fold::Max)));
    return to.scalar(type, fold == Fold::Prod ? 1 : 0);
  }
  unsigned width = cast<IntegerType>(type).getWidth();
  APInt start(width, fold == Fold::Prod ? 1 : 0);
  if (fold == Fold::Max)
    start = natural ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  if (fold == Fold::Min)
    start = natural ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(to.builder, to.loc(), to.builder.getIntegerAttr(type, start));
}

Value step(OpBuilder &b, Location at, Fold fold, Value x, Value sum, bool natural) {
  bool real = isa<FloatType>(sum.getType());
  switch (fold) {
  case Fold::Max:
    return real      ? arith::MaximumFOp::create(b, at, sum, x).getResult()
           : natural ? arith::MaxUIOp::create(b, at, sum, x).getResult()
                     : arith::MaxSIOp::create(b, at, sum, x).getResult();
  case Fold::Min:
    return real      ? arith::MinimumFOp::create(b, at, sum, x).getResult()
           : natural ? arith::MinUIOp::create(b, at, sum, x).getResult()
                     : arith::MinSIOp::create(b, at, sum, x).getResult();
  case Fold::Prod:
    return real ? arith::MulFOp::create(b, at, sum, x).getResult() : arith::MulIOp::create(b, at, sum, x);
  case Fold::L1:
    x = real ? math::AbsFOp::create(b, at, x).getResult() : natural ? x : math::AbsIOp::create(b, at, x).getResult();
    break;
  case Fold::L2:
  case Fold::SumSquare:
    x = real ? arith::MulFOp::create(b, at, x, x).getResult() : arith::MulIOp::create(b, at, x, x);
    break;
  default:
    break;
  }
  return real ? arith::AddFOp::create(b, at, sum, x).getResult() : arith::AddIOp::create(b, at, sum, x);
}

/// How a reduction combines elements and what it makes of the result.
struct Reduction {
  Fold fold;
  bool natural;
  Type onnxElement, element, wide; ///< narrow floats are reduced in f32 and rounded once

  template <typename OpT>
  Reduction(OpT op, OnnxLowering &to, Fold fold)
      : fold(fold), natural(isUnsignedElement(op.getData())), onnxElement(getElementTypeOrSelf(op.getData().getType())),
        element(signlessType(onnxElement)), wide(element) {
    if (auto real = dyn_cast<FloatType>(element))
      if (real.getWidth() < 32)
        wide = to.builder.getF32Type();
  }

  bool isLogSumExp() const { return fold == Fold::LogSumExp; }
  bool hasFinish() const {
    return fold == Fold::Mean || fold == Fold::L2 || fold == Fold::LogSum || fold == Fold::LogSumExp || wide != element;
  }
  Value widen(OpBuilder &b, Location at, Value x) const {
    return x.getType() == wide ? x : arith::ExtFOp::create(b, at, wide, x).getResult();
  }
  Value next(OpBuilder &b, Location at, Value x, Value sum) const {
    return step(b, at, fold, widen(b, at, x), sum, natural);
  }
  /// What a sum of exponentials is relative to: the greatest element, 0 where that is infinite.
  Value reference(OpBuilder &b, Location at, Value top) const {
    Value none = arith::ConstantOp::create(b, at, b.getZeroAttr(wide));
    Value rest = arith::SubFOp::create(b, at, top, top); // NaN for infinities
    Value finite = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, rest, none);
    return arith::SelectOp::create(b, at, finite, top, none);
  }
  Value exponential(OpBuilder &b, Location at, Value x, Value top) const {
    return math::ExpOp::create(b, at, arith::SubFOp::create(b, at, widen(b, at, x), reference(b, at, top)));
  }
  /// `divisor`: of Mean; `top`: of LogSumExp.
  Value finish(OpBuilder &b, Location at, Value y, Value divisor, Value top) const {
    bool real = isa<FloatType>(element);
    if (fold == Fold::Mean)
      y = real      ? arith::DivFOp::create(b, at, y, divisor).getResult()
          : natural ? arith::DivUIOp::create(b, at, y, divisor).getResult()
                    : arith::DivSIOp::create(b, at, y, divisor).getResult();
    if (fold == Fold::L2) {
      Value root = real ? y : OnnxLowering::castScalar(b, at, y, onnxElement, b.getF64Type());
      root = math::SqrtOp::create(b, at, root);
      y = real ? root : OnnxLowering::castScalar(b, at, root, b.getF64Type(), onnxElement);
    }
    if (fold == Fold::LogSum || isLogSumExp())
      y = math::LogOp::create(b, at, y);
    if (isLogSumExp())
      y = arith::AddFOp::create(b, at, y, reference(b, at, top));
    return y.getType() == element ? y : arith::TruncFOp::create(b, at, element, y).getResult();
  }
  /// The number of elements as Mean's divisor; an empty integer mean is 0.
  Value divisor(OnnxLowering &to, Value count) const {
    OpBuilder &b = to.builder;
    if (!isa<FloatType>(element))
      count = arith::MaxSIOp::create(b, to.loc(), count, to.index(1));
    Value number = arith::IndexCastOp::create(b, to.loc(), b.getI64Type(), count);
    return OnnxLowering::castScalar(b, to.loc(), number, b.getI64Type(), isa<FloatType>(element) ? wide : onnxElement);
  }
};

/// The axes come at run time: in row-major order each element goes to its place in a tensor with extent 1 along them.
template <typename OpT> LogicalResult lowerReduceByRun(OpT op, OnnxLowering &to, const Reduction &reduction) {
  OpBuilder &b = to.builder;
  Dims input(to.shapes.shape(op.getData()));
  SmallVector<Value> extents, kept;
  for (const SymbolicExpr &dim : input)
    extents.push_back(to.sizeValue(dim));
  RuntimeAxes axes = runtimeAxes(to, op.getAxes(), input.size());
  SmallVector<OpFoldResult> sizes;
  Value zero = to.index(0), one = to.index(1), count = one;
  for (auto [flag, extent] : llvm::zip(axes.flags, extents)) {
    if (!op.getNoopWithEmptyAxes())
      flag = compute<arith::OrIOp>(to, flag, axes.none);
    count = compute<arith::MulIOp>(to, count, select(to, flag, extent, one));
    kept.push_back(select(to, flag, one, extent));
    sizes.push_back(kept.back());
  }
  Value x = to.value(op.getData());
  auto over = [&](Fold fold, llvm::function_ref<Value(OpBuilder &, Location, Value, Value, ValueRange)> next) {
    Value init = tensor::EmptyOp::create(b, to.loc(), sizes, reduction.wide);
    Value start = startOf(to, fold, reduction.wide, reduction.natural);
    init = linalg::FillOp::create(b, to.loc(), start, init).getResult(0);
    return to.loops(extents, init,
                    [&](OpBuilder &in, Location at, ArrayRef<Value> i, ValueRange carried) -> SmallVector<Value> {
                      SmallVector<Value> target;
                      for (auto [flag, index] : llvm::zip(axes.flags, i))
                        target.push_back(arith::SelectOp::create(in, at, flag, zero, index));
                      Value sum = tensor::ExtractOp::create(in, at, carried[0], target);
                      sum = next(in, at, tensor::ExtractOp::create(in, at, x, i), sum, target);
                      return {tensor::InsertOp::create(in, at, sum, carried[0], target)};
                    })[0];
  };
  Value top, sum;
  if (reduction.isLogSumExp()) {
    top = over(Fold::Max, [&](OpBuilder &in, Location at, Value v, Value old, ValueRange) {
      return step(in, at, Fold::Max, reduction.widen(in, at, v), old, false);
    });
    sum = over(Fold::Sum, [&](OpBuilder &in, Location at, Value v, Value old, ValueRange target) -> Value {
      Value most = tensor::ExtractOp::create(in, at, top, target);
      return arith::AddFOp::create(in, at, old, reduction.exponential(in, at, v, most));
    });
  } else {
    sum = over(reduction.fold, [&](OpBuilder &in, Location at, Value v, Value old, ValueRange) {
      return reduction.next(in, at, v, old);
    });
  }
  if (reduction.hasFinish()) {
    Value divisor = reduction.divisor(to, count);
    sum = to.generate(sizes, reduction.element, [&](OpBuilder &in, Location at, ArrayRef<Value> i) {
      Value most = top ? tensor::ExtractOp::create(in, at, top, i).getResult() : Value();
      return reduction.finish(in, at, tensor::ExtractOp::create(in, at, sum, i), divisor, most);
    });
  }
  if (!op.getKeepdims()) {
    kept = keptExtents(to, axes.flags, extents, to.shapes.rank(op.getReduced()));
    sum = reshapeTo(to, sum, to.type(op.getReduced()), kept);
  }
  to.set(op.getReduced(), sum);
  return success();
}

template <typename OpT, Fold fold> LogicalResult lowerReduce(OpT op, OnnxLowering &to) {
  Dims input(to.shapes.shape(op.getData())), dims(to.shapes.shape(op.getReduced()));
  Reduction reduction(op, to, fold);
  std::optional<SmallVector<int64_t>> axes = SmallVector<int64_t>();
  if (op.getAxes())
    axes = to.shapes.constants(op.getAxes());
  if (!axes)
    return lowerReduceByRun(op, to, reduction);
  SmallVector<bool> reduced(input.size(), axes->empty() && !op.getNoopWithEmptyAxes());
  for (int64_t axis : *axes)
    reduced[axis < 0 ? axis + input.size() : axis] = true;
  Dims kept, small = input;
  SymbolicExpr count(1);
  for (size_t i = 0; i < input.size(); ++i) {
    if (reduced[i]) {
      count = count * input[i];
      small[i] = 1;
    } else {
      kept.push_back(input[i]);
    }
  }
  Value divisor, top, sum, x = to.value(op.getData());
  if (fold == Fold::Mean)
    divisor = reduction.divisor(to, to.sizeValue(count));
  Value start = startOf(to, fold, reduction.wide, reduction.natural);
  if (reduction.isLogSumExp()) {
    top = to.reduce(x, input, reduced, startOf(to, Fold::Max, reduction.wide, false),
                    [&](OpBuilder &in, Location at, ValueRange v) {
                      return step(in, at, Fold::Max, reduction.widen(in, at, v[0]), v[1], false);
                    });
    Value tops = to.reshape(top, kept, small);
    Value terms = to.elementwise(
        {{x, input}, {tops, small}}, input, reduction.wide,
        [&](OpBuilder &in, Location at, ValueRange v) { return reduction.exponential(in, at, v[0], v[1]); });
    sum = to.reduce(terms, input, reduced, start, [&](OpBuilder &in, Location at, ValueRange v) -> Value {
      return arith::AddFOp::create(in, at, v[1], v[0]);
    });
  } else {
    sum = to.reduce(x, input, reduced, start,
                    [&](OpBuilder &in, Location at, ValueRange v) { return reduction.next(in, at, v[0], v[1]); });
  }
  if (reduction.hasFinish()) {
    SmallVector<OnnxLowering::Operand> operands{{sum, kept}};
    if (top)
      operands.push_back({top, kept});
    sum = to.elementwise(operands, kept, reduction.element, [&](OpBuilder &in, Location at, ValueRange v) {
      return reduction.finish(in, at, v[0], divisor, top ? v[1] : Value());
    });
  }
  to.set(op.getReduced(), to.reshape(sum, kept, dims));
  return success();
}

/// exp(x − max) / Σ exp(x − max), in f32 for narrower floats; or its logarithm.
template <typename OpT, bool Log> LogicalResult lowerSoftmax(OpT op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims dims(to.shapes.shape(op.getInput())), kept, small;
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + dims.size() : op.getAxis();
  SmallVector<bool> reduced(dims.size(), false);
  reduced[axis] = true;
  small = dims;
  small[axis] = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (static_cast<int64_t>(i) != axis)
      kept.push_back(dims[i]);
  Type element = to.type(op.getInput()).getElementType();
  Type wide = cast<FloatType>(element).getWidth() < 32 ? Type(b.getF32Type()) : element;
  Value x = to.convertFloat(to.value(op.getInput()), dims, wide);
  Value top = to.reduce(
      x, dims, reduced, startOf(to, Fold::Max, wide, false),
      [&](OpBuilder &in, Location at, ValueRange v) -> Value { return arith::MaximumFOp::create(in, at, v[1], v[0]); });
  Value tops = to.reshape(top, kept, small);
  Value shifted =
      to.elementwise({{x, dims}, {tops, small}}, dims, wide, [&](OpBuilder &in, Location at, ValueRange v) -> Value {
        Value d = arith::SubFOp::create(in, at, v[0], v[1]);
        return Log ? d : math::ExpOp::create(in, at, d).getResult();
      });
  Value sum =
      to.reduce(shifted, dims, reduced, to.scalar(wide, 0), [&](OpBuilder &in, Location at, ValueRange v) -> Value {
        Value term = Log ? math::ExpOp::create(in, at, v[0]).getResult() : v[0];
        return arith::AddFOp::create(in, at, v[1], term);
      });
  Value sums = to.reshape(sum, kept, small);
  to.set(op.getOutput(),
         to.elementwise(
             {{shifted, dims}, {sums, small}}, dims, element, [&](OpBuilder &in, Location at, ValueRange v) -> Value {
               Value y = Log ? arith::SubFOp::create(in, at, v[0], math::LogOp::create(in, at, v[1])).getResult()
                             : arith::DivFOp::create(in, at, v[0], v[1]).getResult();
               return element == wide ? y : arith::TruncFOp::create(in, at, element, y).getResult();
             }));
  return success();
}

/// In row-major order each element adds to the one before it along the axis, which may be known only at run time.
LogicalResult lowerCumSum(onnx::CumSumOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims dims(to.shapes.shape(op.getX()));
  int64_t rank = dims.size();
  Value axis;
  if (auto known = to.shapes.constants(op.getAxis())) {
    axis = to.index((*known)[0] < 0 ? (*known)[0] + rank : (*known)[0]);
  } else {
    Value given = to.onlyElement(op.getAxis());
    axis = OnnxLowering::wrapIndex(b, to.loc(), given, to.index(rank));
    Value low = arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::sge, axis, to.index(0));
    Value high = arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::slt, axis, to.index(rank));
    to.check(arith::AndIOp::create(b, to.loc(), low, high), "axis {0} is outside the rank {1}", {axis, to.index(rank)});
  }
  SmallVector<Value> extents;
  for (const SymbolicExpr &dim : dims)
    extents.push_back(to.sizeValue(dim));
  Value x = to.value(op.getX()), zero = to.index(0), one = to.index(1);
  Type element = to.type(op.getX()).getElementType();
  Value nothing = to.scalar(element, 0);
  SmallVector<Value> axes;
  for (int64_t k = 0; k < rank; ++k)
    axes.push_back(to.index(k));
  auto add = [&](OpBuilder &in, Location at, Value p, Value q) -> Value {
    if (isa<FloatType>(element))
      return arith::AddFOp::create(in, at, p, q);
    return arith::AddIOp::create(in, at, p, q);
  };
  SmallVector<Value> result = to.loops(
      extents, to.empty(op.getY()),
      [&](OpBuilder &in, Location at, ArrayRef<Value> i, ValueRange carried) -> SmallVector<Value> {
        SmallVector<Value> here(i), before;
        Value first;
        for (int64_t k = 0; k < rank; ++k) {
          if (op.getReverse())
            here[k] = arith::SubIOp::create(in, at, arith::SubIOp::create(in, at, extents[k], one), i[k]);
          Value isAxis = arith::CmpIOp::create(in, at, arith::CmpIPredicate::eq, axes[k], axis);
          Value isFirst = arith::AndIOp::create(in, at, isAxis,
                                                arith::CmpIOp::create(in, at, arith::CmpIPredicate::eq, i[k], zero));
          first = first ? arith::OrIOp::create(in, at, first, isFirst).getResult() : isFirst;
          Value back = op.getReverse() ? arith::AddIOp::create(in, at, here[k], one).getResult()
                                       : arith::SubIOp::create(in, at, here[k], one).getResult();
          before.push_back(arith::SelectOp::create(in, at, isAxis, back, here[k]));
        }
        Value own = tensor::ExtractOp::create(in, at, x, here);
        auto sum = scf::IfOp::create(
            in, at, first,
            [&](OpBuilder &then, Location) { scf::YieldOp::create(then, at, op.getExclusive() ? nothing : own); },
            [&](OpBuilder &other, Location) {
              Value last = tensor::ExtractOp::create(other, at, carried[0], before);
              Value more = op.getExclusive() ? tensor::ExtractOp::create(other, at, x, before).getResult() : own;
              scf::YieldOp::create(other, at, add(other, at, last, more));
            });
        return {tensor::InsertOp::create(in, at, sum.getResult(0), carried[0], here)};
      });
  to.set(op.getY(), result[0]);
  return success();
}

LogicalResult lowerGemm(onnx::GemmOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims a(to.shapes.shape(op.getA())), w(to.shapes.shape(op.getB())), y(to.shapes.shape(op.getY()));
  auto oriented = [&](Value tensor, Dims &dims, bool transposed) -> Value {
    if (!transposed)
      return tensor;
    std::swap(dims[0], dims[1]);
    Value init = to.empty(dims, getElementTypeOrSelf(tensor.getType()));
    return linalg::TransposeOp::create(b, to.loc(), tensor, init, ArrayRef<int64_t>{1, 0})->getResult(0);
  };
  Value left = oriented(to.value(op.getA()), a, op.getTransA()),
        right = oriented(to.value(op.getB()), w, op.getTransB());
  Value product = to.matmul(left, a, right, w, y);
  double alpha = op.getAlpha().convertToFloat(), beta = op.getBeta().convertToFloat();
  if (alpha == 1 && !op.getC()) {
    to.set(op.getY(), product);
    return success();
  }
  Dims c;
  SmallVector<OnnxLowering::Operand> operands{{product, y}};
  if (op.getC()) {
    c = Dims(to.shapes.shape(op.getC()));
    operands.push_back({to.value(op.getC()), c});
  }
  Type element = getElementTypeOrSelf(product.getType());
  to.set(op.getY(), to.elementwise(operands, y, element, [&](OpBuilder &in, Location at, ValueRange v) -> Value {
    auto scale = [&](Value x, double factor) -> Value {
      if (factor == 1)
        return x;
      if (auto real = dyn_cast<FloatType>(x.getType()))
        return arith::MulFOp::create(in, at, x, arith::ConstantOp::create(in, at, in.getFloatAttr(real, factor)));
      return arith::MulIOp::create(
          in, at, x, arith::ConstantOp::create(in, at, in.getIntegerAttr(x.getType(), static_cast<int64_t>(factor))));
    };
    Value sum = scale(v[0], alpha);
    if (v.size() == 1)
      return sum;
    Value term = scale(v[1], beta);
    if (isa<FloatType>(element))
      return arith::AddFOp::create(in, at, sum, term);
    return arith::AddIOp::create(in, at, sum, term);
  }));
  return success();
}

} // namespace

void populateReduceLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::ReduceSumOp>(lowerReduce<onnx::ReduceSumOp, Fold::Sum>);
  registry.add<onnx::ReduceMeanOp>(lowerReduce<onnx::ReduceMeanOp, Fold::Mean>);
  registry.add<onnx::ReduceMaxOp>(lowerReduce<onnx::ReduceMaxOp, Fold::Max>);
  registry.add<onnx::ReduceMinOp>(lowerReduce<onnx::ReduceMinOp, Fold::Min>);
  registry.add<onnx::ReduceProdOp>(lowerReduce<onnx::ReduceProdOp, Fold::Prod>);
  registry.add<onnx::ReduceL1Op>(lowerReduce<onnx::ReduceL1Op, Fold::L1>);
  registry.add<onnx::ReduceL2Op>(lowerReduce<onnx::ReduceL2Op, Fold::L2>);
  registry.add<onnx::ReduceSumSquareOp>(lowerReduce<onnx::ReduceSumSquareOp, Fold::SumSquare>);
  registry.add<onnx::ReduceLogSumOp>(lowerReduce<onnx::ReduceLogSumOp, Fold::LogSum>);
  registry.add<onnx::ReduceLogSumExpOp>(lowerReduce<onnx::ReduceLogSumExpOp, Fold::LogSumExp>);
  registry.add<onnx::SoftmaxOp>(lowerSoftmax<onnx::SoftmaxOp, false>);
  registry.add<onnx::LogSoftmaxOp>(lowerSoftmax<onnx::LogSoftmaxOp, true>);
  registry.add<onnx::CumSumOp>(lowerCumSum);
  registry.add<onnx::GemmOp>(lowerGemm);
}

} // namespace farskip
