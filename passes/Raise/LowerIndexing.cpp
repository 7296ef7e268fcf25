// Lowering of operators that pick elements by index.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace mlir;

namespace farskip {

namespace {

SmallVector<Value> extents(OnnxLowering &to, ArrayRef<SymbolicExpr> dims) {
  SmallVector<Value> values;
  for (const SymbolicExpr &dim : dims)
    values.push_back(to.sizeValue(dim));
  return values;
}

LogicalResult lowerGather(onnx::GatherOp op, OnnxLowering &to) {
  Dims data(to.shapes.shape(op.getData())), dims(to.shapes.shape(op.getOutput()));
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + data.size() : op.getAxis(), count = to.shapes.rank(op.getIndices());
  Value extent = to.sizeValue(data[axis]), source = to.value(op.getData()), indices = to.value(op.getIndices());
  to.checkIndices(op.getIndices(), extent);
  to.set(op.getOutput(), to.generate(dims, to.type(op.getData()).getElementType(),
                                     [&](OpBuilder &b, Location at, ArrayRef<Value> i) -> Value {
                                       Value index = tensor::ExtractOp::create(b, at, indices, i.slice(axis, count));
                                       SmallVector<Value> from(i.take_front(axis));
                                       from.push_back(OnnxLowering::wrapIndex(b, at, index, extent));
                                       from.append(i.begin() + axis + count, i.end());
                                       return tensor::ExtractOp::create(b, at, source, from);
                                     }));
  return success();
}

LogicalResult lowerGatherElements(onnx::GatherElementsOp op, OnnxLowering &to) {
  Dims data(to.shapes.shape(op.getData())), dims(to.shapes.shape(op.getOutput()));
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + data.size() : op.getAxis();
  Value extent = to.sizeValue(data[axis]), source = to.value(op.getData()), indices = to.value(op.getIndices());
  to.checkIndices(op.getIndices(), extent);
  for (size_t k = 0; k < dims.size(); ++k)
    if (static_cast<int64_t>(k) != axis && !(data[k] - dims[k]).isNonNegative()) {
      Value have = to.sizeValue(data[k]), want = to.sizeValue(dims[k]);
      to.check(arith::CmpIOp::create(to.builder, to.loc(), arith::CmpIPredicate::sge, have, want),
               "indices have extent {1} along axis " + Twine(k) + ", data {0}", {have, want});
    }
  to.set(op.getOutput(), to.generate(dims, to.type(op.getData()).getElementType(),
                                     [&](OpBuilder &b, Location at, ArrayRef<Value> i) -> Value {
                                       SmallVector<Value> from(i);
                                       Value index = tensor::ExtractOp::create(b, at, indices, i);
                                       from[axis] = OnnxLowering::wrapIndex(b, at, index, extent);
                                       return tensor::ExtractOp::create(b, at, source, from);
                                     }));
  return success();
}

LogicalResult lowerGatherND(onnx::GatherNDOp op, OnnxLowering &to) {
  Dims data(to.shapes.shape(op.getData())), indexDims(to.shapes.shape(op.getIndices())),
      dims(to.shapes.shape(op.getOutput()));
  int64_t batch = op.getBatchDims(), outer = indexDims.size() - 1,
          length = outer + static_cast<int64_t>(data.size()) - batch - static_cast<int64_t>(dims.size());
  to.checkExtent(indexDims.back(), length, "the index tuples");
  Value source = to.value(op.getData()), indices = to.value(op.getIndices());
  SmallVector<Value> bounds;
  for (int64_t k = 0; k < length; ++k)
    bounds.push_back(to.sizeValue(data[batch + k]));
  for (int64_t axis = 0; axis < batch; ++axis) {
    if (data[axis] == indexDims[axis])
      continue;
    Value have = to.sizeValue(data[axis]), want = to.sizeValue(indexDims[axis]);
    to.check(arith::CmpIOp::create(to.builder, to.loc(), arith::CmpIPredicate::eq, have, want),
             "batch axis " + Twine(axis) + " has {0} in the data and {1} in the indices", {have, want});
  }
  to.checkTuples(op.getIndices(), bounds);
  SmallVector<Value> numbers;
  for (int64_t k = 0; k < length; ++k)
    numbers.push_back(to.index(k));
  to.set(op.getOutput(), to.generate(dims, to.type(op.getData()).getElementType(),
                                     [&](OpBuilder &b, Location at, ArrayRef<Value> i) -> Value {
                                       SmallVector<Value> from(i.take_front(batch)), tuple(i.take_front(outer));
                                       tuple.push_back(Value());
                                       for (int64_t k = 0; k < length; ++k) {
                                         tuple.back() = numbers[k];
                                         Value index = tensor::ExtractOp::create(b, at, indices, tuple);
                                         from.push_back(OnnxLowering::wrapIndex(b, at, index, bounds[k]));
                                       }
                                       from.append(i.begin() + outer, i.end());
                                       return tensor::ExtractOp::create(b, at, source, from);
                                     }));
  return success();
}

/// Whether float or integer `a` comes before `b`: greater (or less), NaN greatest.
Value isBetter(OpBuilder &b, Location at, Value x, Value y, bool largest, bool natural) {
  if (!largest)
    std::swap(x, y);
  if (!isa<FloatType>(x.getType()))
    return arith::CmpIOp::create(b, at, natural ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt, x, y);
  Value greater = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OGT, x, y);
  Value xNaN = arith::CmpFOp::create(b, at, arith::CmpFPredicate::UNO, x, x);
  Value yNumber = arith::CmpFOp::create(b, at, arith::CmpFPredicate::ORD, y, y);
  return arith::OrIOp::create(b, at, greater, arith::AndIOp::create(b, at, xNaN, yNumber));
}

/// For each place of the result the best of the elements that come after the one placed before, in the total order of
/// value and index: no marks, and equal values keep the order of their indices.
LogicalResult lowerTopK(onnx::TopKOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims input(to.shapes.shape(op.getX())), dims(to.shapes.shape(op.getValues()));
  int64_t rank = input.size(), axis = op.getAxis() < 0 ? op.getAxis() + rank : op.getAxis();
  Value x = to.value(op.getX()), length = to.sizeValue(input[axis]);
  bool largest = op.getLargest(), natural = isUnsignedElement(op.getX());
  Value k;
  SmallVector<OpFoldResult> sizes;
  if (to.shapes.contents(op.getK())) {
    k = to.sizeValue(dims[axis]);
  } else {
    k = arith::IndexCastOp::create(b, to.loc(), b.getIndexType(), to.onlyElement(op.getK()));
  }
  Value zero = to.index(0), one = to.index(1);
  Value fits =
      arith::AndIOp::create(b, to.loc(), arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::sge, k, zero),
                            arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::sle, k, length));
  to.check(fits, "k is {0}, axis " + Twine(axis) + " has {1}", {k, length});
  for (int64_t i = 0; i < rank; ++i)
    sizes.push_back(i == axis ? getAsOpFoldResult(k) : to.size(dims[i]));
  Type element = to.type(op.getX()).getElementType(), i64 = b.getI64Type();
  Value values = tensor::EmptyOp::create(b, to.loc(), sizes, element);
  Value indices = tensor::EmptyOp::create(b, to.loc(), sizes, i64);
  Dims others;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      others.push_back(input[i]);
  Value none = to.index(-1), blank = to.scalar(element, 0);
  SmallVector<Value> result = to.loops(
      extents(to, others), {values, indices},
      [&](OpBuilder &row, Location at, ArrayRef<Value> outer, ValueRange carried) -> SmallVector<Value> {
        auto place = [&](Value i) {
          SmallVector<Value> full(outer);
          full.insert(full.begin() + axis, i);
          return full;
        };
        auto places = scf::ForOp::create(
            row, at, zero, k, one, ValueRange{carried[0], carried[1], blank, none},
            [&](OpBuilder &p, Location, Value j, ValueRange state) {
              Value last = state[2], lastIndex = state[3];
              auto scan = scf::ForOp::create(
                  p, at, zero, length, one, ValueRange{blank, none},
                  [&](OpBuilder &s, Location, Value i, ValueRange best) {
                    Value v = tensor::ExtractOp::create(s, at, x, place(i));
                    auto negative = [&](Value index) -> Value {
                      return arith::CmpIOp::create(s, at, arith::CmpIPredicate::slt, index, zero);
                    };
                    // After the last one placed: worse, or equal and behind it.
                    Value worse = isBetter(s, at, last, v, largest, natural);
                    Value better = isBetter(s, at, v, last, largest, natural);
                    Value behind = arith::CmpIOp::create(s, at, arith::CmpIPredicate::sgt, i, lastIndex);
                    Value notBetter =
                        arith::XOrIOp::create(s, at, better, arith::ConstantOp::create(s, at, s.getBoolAttr(true)));
                    Value after = arith::OrIOp::create(s, at, worse, arith::AndIOp::create(s, at, notBetter, behind));
                    after = arith::OrIOp::create(s, at, after, negative(lastIndex));
                    Value wins =
                        arith::OrIOp::create(s, at, negative(best[1]), isBetter(s, at, v, best[0], largest, natural));
                    Value take = arith::AndIOp::create(s, at, after, wins);
                    Value bestValue = arith::SelectOp::create(s, at, take, v, best[0]);
                    Value bestIndex = arith::SelectOp::create(s, at, take, i, best[1]);
                    scf::YieldOp::create(s, at, ValueRange{bestValue, bestIndex});
                  });
              Value found = scan.getResult(0), foundIndex = scan.getResult(1);
              Value number = arith::IndexCastOp::create(p, at, i64, foundIndex);
              Value newValues = tensor::InsertOp::create(p, at, found, state[0], place(j));
              Value newIndices = tensor::InsertOp::create(p, at, number, state[1], place(j));
              scf::YieldOp::create(p, at, ValueRange{newValues, newIndices, found, foundIndex});
            });
        return {places.getResult(0), places.getResult(1)};
      });
  to.set(op.getValues(), result[0]);
  to.set(op.getIndices(), result[1]);
  return success();
}

template <typename OpT, bool Largest> LogicalResult lowerArg(OpT op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims input(to.shapes.shape(op.getData())), dims(to.shapes.shape(op.getReduced()));
  int64_t rank = input.size(), axis = op.getAxis() < 0 ? op.getAxis() + rank : op.getAxis();
  bool natural = isUnsignedElement(op.getData()), lastWins = op.getSelectLastIndex(), keep = op.getKeepdims();
  Value x = to.value(op.getData()), length = to.sizeValue(input[axis]), zero = to.index(0), one = to.index(1);
  to.check(arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::sgt, length, zero),
           "axis " + Twine(axis) + " is empty");
  Dims others;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      others.push_back(input[i]);
  SmallVector<Value> result = to.loops(
      extents(to, others), to.empty(dims, b.getI64Type()),
      [&](OpBuilder &row, Location at, ArrayRef<Value> outer, ValueRange carried) -> SmallVector<Value> {
        auto place = [&](Value i) {
          SmallVector<Value> full(outer);
          full.insert(full.begin() + axis, i);
          return full;
        };
        Value first = tensor::ExtractOp::create(row, at, x, place(zero));
        auto scan = scf::ForOp::create(
            row, at, one, length, one, ValueRange{first, zero}, [&](OpBuilder &s, Location, Value i, ValueRange best) {
              Value v = tensor::ExtractOp::create(s, at, x, place(i));
              Value take = isBetter(s, at, v, best[0], Largest, natural);
              if (lastWins)
                take = arith::XOrIOp::create(s, at, isBetter(s, at, best[0], v, Largest, natural),
                                             arith::ConstantOp::create(s, at, s.getBoolAttr(true)));
              Value bestValue = arith::SelectOp::create(s, at, take, v, best[0]);
              Value bestIndex = arith::SelectOp::create(s, at, take, i, best[1]);
              scf::YieldOp::create(s, at, ValueRange{bestValue, bestIndex});
            });
        Value number = arith::IndexCastOp::create(row, at, row.getI64Type(), scan.getResult(1));
        SmallVector<Value> target = keep ? place(zero) : SmallVector<Value>(outer);
        return {tensor::InsertOp::create(row, at, number, carried[0], target)};
      });
  to.set(op.getReduced(), result[0]);
  return success();
}

LogicalResult lowerNonZero(onnx::NonZeroOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims dims(to.shapes.shape(op.getX()));
  Value x = to.value(op.getX());
  auto isSet = [](OpBuilder &in, Location at, Value v) -> Value {
    Value zero = arith::ConstantOp::create(in, at, in.getZeroAttr(v.getType()));
    if (isa<FloatType>(v.getType()))
      return arith::CmpFOp::create(in, at, arith::CmpFPredicate::UNE, v, zero);
    return arith::CmpIOp::create(in, at, arith::CmpIPredicate::ne, v, zero);
  };
  SmallVector<bool> all(dims.size(), true);
  Type i64 = b.getI64Type();
  Value counted = to.reduce(x, dims, all, to.integer(i64, 0), [&](OpBuilder &in, Location at, ValueRange v) -> Value {
    return arith::AddIOp::create(in, at, v[1], arith::ExtUIOp::create(in, at, i64, isSet(in, at, v[0])));
  });
  Value count = arith::IndexCastOp::create(b, to.loc(), b.getIndexType(),
                                           tensor::ExtractOp::create(b, to.loc(), counted, ValueRange{}));
  int64_t rank = dims.size(), rows = std::max<int64_t>(1, rank);
  Value init = tensor::EmptyOp::create(b, to.loc(), ArrayRef<OpFoldResult>{b.getIndexAttr(rows), count}, i64);
  SmallVector<Value> row;
  for (int64_t k = 0; k < rows; ++k)
    row.push_back(to.index(k));
  Value zero = to.index(0), one = to.index(1);
  SmallVector<Value> result =
      to.loops(extents(to, dims), {init, zero},
               [&](OpBuilder &in, Location at, ArrayRef<Value> i, ValueRange carried) -> SmallVector<Value> {
                 Value set = isSet(in, at, tensor::ExtractOp::create(in, at, x, i));
                 auto branch = scf::IfOp::create(
                     in, at, set,
                     [&](OpBuilder &then, Location) {
                       Value table = carried[0];
                       for (int64_t k = 0; k < rows; ++k) {
                         Value number = arith::IndexCastOp::create(then, at, i64, k < rank ? i[k] : zero);
                         table = tensor::InsertOp::create(then, at, number, table, ValueRange{row[k], carried[1]});
                       }
                       Value next = arith::AddIOp::create(then, at, carried[1], one);
                       scf::YieldOp::create(then, at, ValueRange{table, next});
                     },
                     [&](OpBuilder &other, Location) { scf::YieldOp::create(other, at, carried); });
                 return {branch.getResult(0), branch.getResult(1)};
               });
  to.set(op.getY(), result[0]);
  return success();
}

LogicalResult lowerOneHot(onnx::OneHotOp op, OnnxLowering &to) {
  OpBuilder &b = to.builder;
  Dims input(to.shapes.shape(op.getIndices())), dims(to.shapes.shape(op.getOutput()));
  int64_t rank = dims.size(), axis = op.getAxis() < 0 ? op.getAxis() + rank : op.getAxis();
  Type i64 = b.getI64Type(), indexType = getElementTypeOrSelf(op.getIndices().getType()),
       depthType = getElementTypeOrSelf(op.getDepth().getType());
  Value depth;
  SmallVector<OpFoldResult> sizes;
  if (to.shapes.contents(op.getDepth())) {
    depth = to.sizeValue(dims[axis]);
  } else {
    Value number = to.onlyElement(op.getDepth());
    depth = arith::IndexCastOp::create(b, to.loc(), b.getIndexType(),
                                       OnnxLowering::castScalar(b, to.loc(), number, depthType, i64));
    to.check(arith::CmpIOp::create(b, to.loc(), arith::CmpIPredicate::sge, depth, to.index(0)), "depth is {0}",
             {depth});
  }
  for (int64_t k = 0; k < rank; ++k)
    sizes.push_back(k == axis ? getAsOpFoldResult(depth) : to.size(dims[k]));
  Value indices = to.value(op.getIndices()), values = to.value(op.getValues());
  Value off = tensor::ExtractOp::create(b, to.loc(), values, ValueRange{to.index(0)});
  Value on = tensor::ExtractOp::create(b, to.loc(), values, ValueRange{to.index(1)});
  to.checkSize(sizes);
  Value init = tensor::EmptyOp::create(b, to.loc(), sizes, off.getType());
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, to.loc(), init.getType(), ValueRange{}, init, b.getMultiDimIdentityMap(rank), iterators,
      [&](OpBuilder &in, Location at, ValueRange) {
        SmallVector<Value> from;
        for (int64_t k = 0; k < rank; ++k)
          if (k != axis)
            from.push_back(linalg::IndexOp::create(in, at, k));
        Value number = tensor::ExtractOp::create(in, at, indices, from);
        number = OnnxLowering::castScalar(in, at, number, indexType, i64);
        Value index = OnnxLowering::wrapIndex(in, at, number, depth);
        Value here = linalg::IndexOp::create(in, at, axis);
        Value hit = arith::CmpIOp::create(in, at, arith::CmpIPredicate::eq, index, here);
        linalg::YieldOp::create(in, at, arith::SelectOp::create(in, at, hit, on, off).getResult());
      });
  to.set(op.getOutput(), generic.getResult(0));
  return success();
}

} // namespace

void populateIndexingLowerings(OnnxLoweringRegistry &registry) {
  registry.add<onnx::GatherOp>(lowerGather);
  registry.add<onnx::GatherElementsOp>(lowerGatherElements);
  registry.add<onnx::GatherNDOp>(lowerGatherND);
  registry.add<onnx::TopKOp>(lowerTopK);
  registry.add<onnx::ArgMaxOp>(lowerArg<onnx::ArgMaxOp, true>);
  registry.add<onnx::ArgMinOp>(lowerArg<onnx::ArgMinOp, false>);
  registry.add<onnx::NonZeroOp>(lowerNonZero);
  registry.add<onnx::OneHotOp>(lowerOneHot);
}

} // namespace farskip
