// Lowering of operators that move or reshape data.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/IndexMath.h"
#include "passes/Raise/RuntimeAxes.h"
#include "passes/Raise/Scalars.h"

using namespace mlir;

namespace farskip {

namespace {

LogicalResult lowerReshape(onnx::ReshapeOp op, OnnxLowering &to) {
  Dims from(to.shapes.shape(op.getData())), dims(to.shapes.shape(op.getReshaped()));
  bool tracked = to.shapes.contents(op.getShape());
  if (tracked) {
    SymbolicExpr elements = to.shapes.elements(op.getReshaped()), all = to.shapes.elements(op.getData());
    if (elements != all) {
      Value have = to.sizeValue(all), want = to.sizeValue(elements);
      to.check(compare(to, arith::CmpIPredicate::eq, have, want), "cannot reshape {0} elements to a shape of {1}",
               {have, want});
    }
    to.set(op.getReshaped(), to.reshape(to.value(op.getData()), from, dims));
    return success();
  }
  // The extents are read; -1 and 0 are resolved as they come.
  OpBuilder &b = to.builder;
  Value total = to.sizeValue(to.shapes.elements(op.getData())), known = to.index(1), minusOne = to.index(-1),
        zero = to.index(0);
  SmallVector<Value> extents;
  for (size_t i = 0; i < dims.size(); ++i) {
    Value extent = element(to, op.getShape(), i);
    if (!op.getAllowzero()) {
      Value isZero = compare(to, arith::CmpIPredicate::eq, extent, zero);
      if (i < from.size())
        extent = select(to, isZero, to.sizeValue(from[i]), extent);
    }
    Value open = compare(to, arith::CmpIPredicate::eq, extent, minusOne);
    known = compute<arith::MulIOp>(to, known, select(to, open, to.index(1), extent));
    extents.push_back(extent);
  }
  Value divisor = select(to, compare(to, arith::CmpIPredicate::eq, known, zero), to.index(1), known);
  Value rest = compute<arith::DivSIOp>(to, total, divisor), product = to.index(1);
  for (Value &extent : extents) {
    extent = select(to, compare(to, arith::CmpIPredicate::eq, extent, minusOne), rest, extent);
    to.check(compare(to, arith::CmpIPredicate::sge, extent, zero), "the shape has the negative extent {0}", {extent});
    product = compute<arith::MulIOp>(to, product, extent);
  }
  to.check(compare(to, arith::CmpIPredicate::eq, product, total), "cannot reshape {0} elements to a shape of {1}",
           {total, product});
  Value data = to.value(op.getData());
  Value shape = tensor::FromElementsOp::create(
      b, to.loc(), RankedTensorType::get({(int64_t)extents.size()}, b.getIndexType()), extents);
  to.set(op.getReshaped(), tensor::ReshapeOp::create(b, to.loc(), to.type(op.getReshaped()), data, shape));
  return success();
}

LogicalResult lowerTranspose(onnx::TransposeOp op, OnnxLowering &to) {
  int64_t rank = to.shapes.rank(op.getData());
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i)
    perm.push_back(op.getPerm() ? (*op.getPerm())[i] : rank - 1 - i);
  Value init = to.empty(op.getTransposed());
  auto result = linalg::TransposeOp::create(to.builder, to.loc(), to.value(op.getData()), init, perm);
  to.set(op.getTransposed(), result->getResult(0));
  return success();
}

/// Puts `part` into `whole` at `offset` along `axis`.
Value insert(OnnxLowering &to, Value part, Value whole, ArrayRef<SymbolicExpr> dims, int64_t axis,
             OpFoldResult offset) {
  OpBuilder &b = to.builder;
  SmallVector<OpFoldResult> offsets(dims.size(), b.getIndexAttr(0)), strides(dims.size(), b.getIndexAttr(1));
  offsets[axis] = offset;
  return tensor::InsertSliceOp::create(b, to.loc(), part, whole, offsets, to.sizes(dims), strides);
}

LogicalResult lowerConcat(onnx::ConcatOp op, OnnxLowering &to) {
  Dims dims(to.shapes.shape(op.getConcatResult()));
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + dims.size() : op.getAxis();
  Value result = to.empty(op.getConcatResult());
  SymbolicExpr offset(0);
  for (Value input : op.getInputs()) {
    Dims part(to.shapes.shape(input));
    for (size_t k = 0; k < dims.size(); ++k) {
      if (static_cast<int64_t>(k) == axis || part[k] == dims[k])
        continue;
      Value have = to.sizeValue(part[k]), want = to.sizeValue(dims[k]);
      to.check(compare(to, arith::CmpIPredicate::eq, have, want),
               "inputs have extents {0} and {1} along axis " + Twine(k), {have, want});
    }
    if (!part[axis].isConstant(0))
      result = insert(to, to.value(input), result, part, axis, to.size(offset));
    offset = offset + part[axis];
  }
  to.set(op.getConcatResult(), result);
  return success();
}

LogicalResult lowerSplit(onnx::SplitOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims dims(to.shapes.shape(op.getInput()));
  int64_t rank = dims.size(), axis = op.getAxis() < 0 ? op.getAxis() + rank : op.getAxis();
  SmallVector<Value> sizes;
  Value sum = to.index(0), extent = to.sizeValue(dims[axis]);
  bool proven = true;
  SymbolicExpr total(0);
  for (auto [i, output] : llvm::enumerate(op.getOutputs())) {
    const SymbolicExpr dim = to.shapes.shape(output)[axis];
    bool own = isOwn(to, dim, output);
    sizes.push_back(own ? element(to, op.getSplit(), i) : to.sizeValue(dim));
    proven &= !own;
    total = total + dim;
    sum = compute<arith::AddIOp>(to, sum, sizes.back());
    if (own || !dim.isNonNegative())
      to.check(compare(to, arith::CmpIPredicate::sge, sizes.back(), to.index(0)), "the split size {0} is negative",
               {sizes.back()});
  }
  if (!proven || total != dims[axis])
    to.check(compare(to, arith::CmpIPredicate::eq, sum, extent), "the split sizes sum to {0}, the axis has {1}",
             {sum, extent});
  Value offset = to.index(0);
  for (auto [i, output] : llvm::enumerate(op.getOutputs())) {
    SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), strides(rank, b.getIndexAttr(1)), part = to.sizes(dims);
    offsets[axis] = getAsOpFoldResult(offset);
    part[axis] = getAsOpFoldResult(sizes[i]);
    // Nothing may be cut at the end of an axis.
    if (to.shapes.elements(output).isConstant(0) || to.shapes.elements(op.getInput()).isConstant(0))
      to.set(output, tensor::EmptyOp::create(b, to.loc(), part, to.type(output).getElementType()));
    else
      to.set(output, tensor::ExtractSliceOp::create(b, to.loc(), to.value(op.getInput()), offsets, part, strides));
    offset = compute<arith::AddIOp>(to, offset, sizes[i]);
  }
  return success();
}

/// The same elements in another shape; extents that must be 1 and are not proven so are checked.
template <typename OpT> LogicalResult lowerReshaping(OpT op, OnnxLowering &to) {
  Value input = op->getOperand(0), output = op->getResult(0);
  Dims from(to.shapes.shape(input)), dims(to.shapes.shape(output));
  SymbolicExpr before = to.shapes.elements(input), after = to.shapes.elements(output);
  if (before != after) {
    Value have = to.sizeValue(before), want = to.sizeValue(after);
    to.check(compare(to, arith::CmpIPredicate::eq, have, want), "{0} elements do not fit a shape of {1}", {have, want});
  }
  to.set(output, to.reshape(to.value(input), from, dims));
  return success();
}

/// The extents that are kept (Squeeze) or the ones put between them (Unsqueeze) are decided by axes of the run.
LogicalResult lowerSqueezeByRun(onnx::SqueezeOp op, OnnxLowering &to) {
  Dims from(to.shapes.shape(op.getData()));
  SmallVector<Value> extents, flags;
  for (const SymbolicExpr &dim : from)
    extents.push_back(to.sizeValue(dim));
  if (op.getAxes()) {
    flags = runtimeAxes(to, op.getAxes(), from.size()).flags;
    for (auto [axis, flag, extent] : llvm::enumerate(flags, extents)) {
      Value one = select(to, flag, extent, to.index(1));
      to.check(compare(to, arith::CmpIPredicate::eq, one, to.index(1)),
               "axis " + Twine(axis) + " has extent {0}, wanted 1", {extent});
    }
  } else {
    for (Value extent : extents)
      flags.push_back(compare(to, arith::CmpIPredicate::eq, extent, to.index(1)));
  }
  SmallVector<Value> kept = keptExtents(to, flags, extents, to.shapes.rank(op.getSqueezed()));
  to.set(op.getSqueezed(), reshapeTo(to, to.value(op.getData()), to.type(op.getSqueezed()), kept));
  return success();
}

LogicalResult lowerSqueeze(onnx::SqueezeOp op, OnnxLowering &to) {
  bool known = op.getAxes() ? to.shapes.constants(op.getAxes()).has_value()
                            : llvm::all_of(Dims(to.shapes.shape(op.getData())),
                                           [](const SymbolicExpr &dim) { return dim.constant().has_value(); });
  return known ? lowerReshaping(op, to) : lowerSqueezeByRun(op, to);
}

LogicalResult lowerUnsqueeze(onnx::UnsqueezeOp op, OnnxLowering &to) {
  if (to.shapes.constants(op.getAxes()))
    return lowerReshaping(op, to);
  Dims from(to.shapes.shape(op.getData()));
  int64_t rank = to.shapes.rank(op.getExpanded());
  SmallVector<Value> flags = runtimeAxes(to, op.getAxes(), rank).flags, extents;
  // Where an axis is not new it has the next extent of the input.
  Value next = to.index(0);
  for (Value flag : flags) {
    Value extent = to.index(1);
    for (auto [i, dim] : llvm::enumerate(from))
      extent = select(to, compare(to, arith::CmpIPredicate::eq, next, to.index(i)), to.sizeValue(dim), extent);
    extents.push_back(select(to, flag, to.index(1), extent));
    next = compute<arith::AddIOp>(to, next, select(to, flag, to.index(0), to.index(1)));
  }
  to.check(compare(to, arith::CmpIPredicate::eq, next, to.index(from.size())),
           "the axes make a result of another rank than " + Twine(rank));
  to.set(op.getExpanded(), reshapeTo(to, to.value(op.getData()), to.type(op.getExpanded()), extents));
  return success();
}

LogicalResult lowerExpand(onnx::ExpandOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims from(to.shapes.shape(op.getInput())), dims(to.shapes.shape(op.getOutput()));
  Value data = to.value(op.getInput());
  if (to.shapes.contents(op.getShape())) {
    to.set(op.getOutput(), to.broadcastTo(data, from, dims));
    return success();
  }
  int64_t rank = dims.size(), wanted = *to.shapes.shape(op.getShape())[0].constant();
  Value one = to.index(1);
  SmallVector<OpFoldResult> sizes(rank);
  SmallVector<Value> isOne(rank);
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t source = axis - (rank - static_cast<int64_t>(from.size())), target = axis - (rank - wanted);
    Value have = source >= 0 ? to.sizeValue(from[source]) : one;
    Value want = target >= 0 ? element(to, op.getShape(), target) : one;
    isOne[axis] = compare(to, arith::CmpIPredicate::eq, have, one);
    Value size = select(to, isOne[axis], want, have);
    Value fits = compute<arith::OrIOp>(to, compare(to, arith::CmpIPredicate::eq, want, size),
                                       compare(to, arith::CmpIPredicate::eq, want, one));
    Value positive = compare(to, arith::CmpIPredicate::sge, want, to.index(0));
    to.check(compute<arith::AndIOp>(to, fits, positive), "cannot expand extent {0} to {1}", {have, want});
    sizes[axis] = size;
  }
  to.checkSize(sizes);
  Value init = tensor::EmptyOp::create(b, to.loc(), sizes, to.type(op.getOutput()).getElementType());
  Value zero = to.index(0);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, to.loc(), init.getType(), ValueRange{}, init, b.getMultiDimIdentityMap(rank), iterators,
      [&](OpBuilder &in, Location at, ValueRange) {
        SmallVector<Value> indices;
        for (int64_t axis = rank - from.size(); axis < rank; ++axis) {
          Value i = linalg::IndexOp::create(in, at, axis);
          indices.push_back(arith::SelectOp::create(in, at, isOne[axis], zero, i));
        }
        linalg::YieldOp::create(in, at, tensor::ExtractOp::create(in, at, data, indices).getResult());
      });
  to.set(op.getOutput(), generic.getResult(0));
  return success();
}

LogicalResult lowerTile(onnx::TileOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims from(to.shapes.shape(op.getInput())), dims(to.shapes.shape(op.getOutput()));
  int64_t rank = dims.size();
  Value data = to.value(op.getInput());
  SmallVector<OpFoldResult> sizes;
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < rank; ++axis) {
    extents.push_back(to.sizeValue(from[axis]));
    if (!isOwn(to, dims[axis], op.getOutput())) {
      sizes.push_back(to.size(dims[axis]));
      continue;
    }
    Value repeat = element(to, op.getRepeats(), axis);
    to.check(compare(to, arith::CmpIPredicate::sge, repeat, to.index(0)), "a negative number of repeats: {0}",
             {repeat});
    to.checkSize({extents.back(), repeat}); // before their product can wrap
    sizes.push_back(compute<arith::MulIOp>(to, extents.back(), repeat));
  }
  to.checkSize(sizes);
  Value init = tensor::EmptyOp::create(b, to.loc(), sizes, to.type(op.getOutput()).getElementType());
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, to.loc(), init.getType(), ValueRange{}, init, b.getMultiDimIdentityMap(rank), iterators,
      [&](OpBuilder &in, Location at, ValueRange) {
        SmallVector<Value> indices;
        for (int64_t axis = 0; axis < rank; ++axis)
          indices.push_back(arith::RemUIOp::create(in, at, linalg::IndexOp::create(in, at, axis), extents[axis]));
        linalg::YieldOp::create(in, at, tensor::ExtractOp::create(in, at, data, indices).getResult());
      });
  to.set(op.getOutput(), generic.getResult(0));
  return success();
}

/// A small integer tensor whose contents are known as expressions.
Value fromContents(OnnxLowering &to, Value onnx) {
  OpBuilder &b = to.builder;
  RankedTensorType type = to.type(onnx);
  SmallVector<Value> elements;
  for (const SymbolicExpr &expr : *to.shapes.contents(onnx))
    elements.push_back(expr.constant()
                           ? to.integer(type.getElementType(), *expr.constant())
                           : Value(arith::IndexCastOp::create(b, to.loc(), type.getElementType(), to.sizeValue(expr))));
  if (elements.empty())
    return tensor::EmptyOp::create(b, to.loc(), type.getShape(), type.getElementType());
  return tensor::FromElementsOp::create(b, to.loc(), type, elements);
}

template <typename OpT> LogicalResult lowerKnown(OpT op, OnnxLowering &to) {
  to.set(op->getResult(0), fromContents(to, op->getResult(0)));
  return success();
}

LogicalResult lowerConstantOfShape(onnx::ConstantOfShapeOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims dims(to.shapes.shape(op.getOutput()));
  Type type = to.type(op.getOutput()).getElementType();
  Value fill = to.scalar(type, 0);
  if (auto value = dyn_cast_or_null<DenseElementsAttr>(op.getValueAttr())) {
    if (value.getElementType() != type)
      value = value.bitcast(type);
    fill = arith::ConstantOp::create(b, to.loc(), value.getSplatValue<TypedAttr>());
  }
  SmallVector<OpFoldResult> sizes;
  for (auto [axis, dim] : llvm::enumerate(dims)) {
    if (!isOwn(to, dim, op.getOutput())) {
      sizes.push_back(to.size(dim));
      continue;
    }
    Value extent = element(to, op.getInput(), axis);
    to.check(compare(to, arith::CmpIPredicate::sge, extent, to.index(0)), "the shape has the negative extent {0}",
             {extent});
    sizes.push_back(extent);
  }
  to.checkSize(sizes);
  Value init = tensor::EmptyOp::create(b, to.loc(), sizes, type);
  to.set(op.getOutput(), linalg::FillOp::create(b, to.loc(), fill, init).getResult(0));
  return success();
}

LogicalResult lowerRange(onnx::RangeOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Type type = to.type(op.getOutput()).getElementType();
  Value start = to.onlyElement(op.getStart()), delta = to.onlyElement(op.getDelta());
  SymbolicExpr dim = to.shapes.shape(op.getOutput())[0];
  OpFoldResult count;
  if (!isOwn(to, dim, op.getOutput())) {
    count = to.size(dim);
  } else if (isa<FloatType>(type)) {
    Value limit = to.onlyElement(op.getLimit());
    auto wide = [&](Value v) { return OnnxLowering::castScalar(b, to.loc(), v, type, b.getF64Type()); };
    Value none = arith::ConstantOp::create(b, to.loc(), b.getF64FloatAttr(0));
    Value step = wide(delta);
    to.check(arith::CmpFOp::create(b, to.loc(), arith::CmpFPredicate::ONE, step, none), "delta is 0 or not a number");
    Value span = arith::SubFOp::create(b, to.loc(), wide(limit), wide(start));
    Value steps = math::CeilOp::create(b, to.loc(), arith::DivFOp::create(b, to.loc(), span, step));
    // Saturates: what is too many for a tensor stays too many, and no number is none.
    Value whole = OnnxLowering::castScalar(b, to.loc(), steps, b.getF64Type(), b.getI64Type());
    Value number = arith::IndexCastOp::create(b, to.loc(), b.getIndexType(), whole);
    count = compute<arith::MaxSIOp>(to, number, to.index(0));
  } else {
    Value from = element(to, op.getStart(), 0), limit = element(to, op.getLimit(), 0),
          step = element(to, op.getDelta(), 0), zero = to.index(0);
    to.check(compare(to, arith::CmpIPredicate::ne, step, zero), "delta is 0");
    // In f64, where the distance of two far limits does not wrap.
    auto wide = [&](Value v) -> Value {
      Value number = arith::IndexCastOp::create(b, to.loc(), b.getI64Type(), v);
      return arith::SIToFPOp::create(b, to.loc(), b.getF64Type(), number);
    };
    Value distance = math::AbsFOp::create(b, to.loc(), arith::SubFOp::create(b, to.loc(), wide(limit), wide(from)));
    Value most = arith::ConstantOp::create(b, to.loc(), b.getF64FloatAttr(0x1p62));
    to.check(arith::CmpFOp::create(b, to.loc(), arith::CmpFPredicate::OLE, distance, most),
             "the limits are more than 2^62 apart");
    Value backwards = compare(to, arith::CmpIPredicate::slt, step, zero);
    Value span =
        select(to, backwards, compute<arith::SubIOp>(to, from, limit), compute<arith::SubIOp>(to, limit, from));
    Value size = select(to, backwards, compute<arith::SubIOp>(to, zero, step), step);
    Value steps = compute<arith::CeilDivSIOp>(to, span, compute<arith::MaxSIOp>(to, size, to.index(1)));
    count = compute<arith::MaxSIOp>(to, steps, zero);
  }
  to.checkSize(count);
  Value init = tensor::EmptyOp::create(b, to.loc(), ArrayRef{count}, type);
  auto generic = linalg::GenericOp::create(
      b, to.loc(), init.getType(), ValueRange{}, init, b.getMultiDimIdentityMap(1),
      ArrayRef{utils::IteratorType::parallel}, [&](OpBuilder &in, Location at, ValueRange) {
        Value i = arith::IndexCastOp::create(in, at, in.getI64Type(), linalg::IndexOp::create(in, at, 0));
        Scalars s{in, at};
        if (!isa<FloatType>(type)) {
          Value number = OnnxLowering::castScalar(in, at, i, in.getI64Type(), type);
          linalg::YieldOp::create(in, at, s.make<arith::AddIOp>(start, s.make<arith::MulIOp>(number, delta)));
          return;
        }
        Value from = s.widen(start);
        Value number = OnnxLowering::castScalar(in, at, i, in.getI64Type(), from.getType());
        linalg::YieldOp::create(in, at, s.narrow(s.add(from, s.mul(number, s.widen(delta))), type));
      });
  to.set(op.getOutput(), generic.getResult(0));
  return success();
}

LogicalResult lowerTrilu(onnx::TriluOp op, OnnxLowering &to) {
  Dims dims(to.shapes.shape(op.getInput()));
  int64_t rank = dims.size();
  Value k = op.getK() ? element(to, op.getK(), 0) : to.index(0);
  // Beyond the matrix all diagonals are alike; clamping keeps i + k from overflowing.
  Value rows = to.sizeValue(dims[rank - 2]), columns = to.sizeValue(dims[rank - 1]);
  Value low = compute<arith::SubIOp>(to, to.index(0), compute<arith::AddIOp>(to, rows, to.index(1)));
  k = compute<arith::MaxSIOp>(to, compute<arith::MinSIOp>(to, k, compute<arith::AddIOp>(to, columns, to.index(1))),
                              low);
  Value data = to.value(op.getInput());
  Value zero = to.scalar(to.type(op.getInput()).getElementType(), 0);
  bool upper = op.getUpper();
  to.set(op.getOutput(),
         to.elementwise({{data, dims}}, dims, zero.getType(), [&](OpBuilder &in, Location at, ValueRange x) -> Value {
           Value i = linalg::IndexOp::create(in, at, rank - 2), j = linalg::IndexOp::create(in, at, rank - 1);
           Value diagonal = arith::AddIOp::create(in, at, i, k);
           Value keep = arith::CmpIOp::create(in, at, upper ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle, j,
                                              diagonal);
           return arith::SelectOp::create(in, at, keep, x[0], zero);
         }));
  return success();
}

} // namespace

void populateLayoutLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::ReshapeOp>(lowerReshape);
  registry.add<onnx::TransposeOp>(lowerTranspose);
  registry.add<onnx::ConcatOp>(lowerConcat);
  registry.add<onnx::SplitOp>(lowerSplit);
  registry.add<onnx::SqueezeOp>(lowerSqueeze);
  registry.add<onnx::UnsqueezeOp>(lowerUnsqueeze);
  registry.add<onnx::FlattenOp>(lowerReshaping<onnx::FlattenOp>);
  registry.add<onnx::ExpandOp>(lowerExpand);
  registry.add<onnx::TileOp>(lowerTile);
  registry.add<onnx::ShapeOp>(lowerKnown<onnx::ShapeOp>);
  registry.add<onnx::SizeOp>(lowerKnown<onnx::SizeOp>);
  registry.add<onnx::ConstantOfShapeOp>(lowerConstantOfShape);
  registry.add<onnx::RangeOp>(lowerRange);
  registry.add<onnx::TriluOp>(lowerTrilu);
}

} // namespace farskip
