// Structured operations that the lowerings of the operators are made of.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"

using namespace farskip;
using namespace mlir;

void OnnxLowering::elementwise(ArrayRef<Value> operands, Value result, ScalarBody body) {
  SmallVector<Dims> dims;
  for (Value operand : operands)
    dims.emplace_back(shapes.shape(operand));
  SmallVector<Operand> inputs;
  for (auto [operand, shape] : llvm::zip(operands, dims))
    inputs.push_back({value(operand), shape});
  Dims target(shapes.shape(result));
  set(result, elementwise(inputs, target, type(result).getElementType(), body));
}

/// The positions of `dims`' axes in a result of rank `rank`, with the unit axes that are stretched left out.
static SmallVector<int64_t> keptAxes(ArrayRef<SymbolicExpr> dims, ArrayRef<SymbolicExpr> target) {
  SmallVector<int64_t> kept;
  int64_t shift = target.size() - dims.size();
  for (auto [axis, dim] : llvm::enumerate(dims))
    if (!dim.isConstant(1) || target[shift + axis].isConstant(1))
      kept.push_back(axis);
  return kept;
}

Value OnnxLowering::elementwise(ArrayRef<Operand> operands, ArrayRef<SymbolicExpr> dims, Type element,
                                ScalarBody body) {
  int64_t rank = dims.size();
  MLIRContext *context = builder.getContext();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  // For each operand its number among the inputs, or -1 with a tensor that is read by computed indices.
  struct Source {
    int64_t input = -1;
    Value tensor, constant;
    SmallVector<Value> isOne;
  };
  SmallVector<Source> sources;
  for (const Operand &operand : operands) {
    Source source;
    int64_t shift = rank - static_cast<int64_t>(operand.dims.size());
    DenseElementsAttr splat;
    if (matchPattern(operand.tensor, m_Constant(&splat)) && splat.isSplat()) {
      source.constant = arith::ConstantOp::create(builder, location, splat.getSplatValue<TypedAttr>());
      sources.push_back(std::move(source));
      continue;
    }
    bool proven = true;
    for (auto [axis, dim] : llvm::enumerate(operand.dims))
      proven &= dim == dims[shift + axis] || dim.isConstant(1);
    if (proven) {
      SmallVector<int64_t> kept = keptAxes(operand.dims, dims);
      Value input = operand.tensor;
      if (kept.size() != operand.dims.size()) {
        Dims rest;
        for (int64_t axis : kept)
          rest.push_back(operand.dims[axis]);
        input = reshape(input, operand.dims, rest);
      }
      SmallVector<AffineExpr> exprs;
      for (int64_t axis : kept)
        exprs.push_back(builder.getAffineDimExpr(shift + axis));
      source.input = inputs.size();
      inputs.push_back(input);
      maps.push_back(AffineMap::get(rank, 0, exprs, context));
    } else {
      source.tensor = operand.tensor;
      Value one = index(1);
      for (auto [axis, dim] : llvm::enumerate(operand.dims)) {
        Value isOne;
        const SymbolicExpr &whole = dims[shift + axis];
        if (dim != whole && !dim.isConstant(1)) {
          Value extent = sizeValue(dim), wanted = sizeValue(whole);
          isOne = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, extent, one);
          Value fits = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, extent, wanted);
          check(arith::OrIOp::create(builder, location, isOne, fits),
                "cannot broadcast extents {0} and {1} along axis " + Twine(shift + axis), {extent, wanted});
        }
        source.isOne.push_back(isOne);
      }
    }
    sources.push_back(std::move(source));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  Value init = empty(dims, element);
  auto generic =
      linalg::GenericOp::create(builder, location, init.getType(), inputs, init, maps, iterators,
                                [&](OpBuilder &b, Location at, ValueRange arguments) {
                                  SmallVector<Value> scalars;
                                  for (auto [operand, source] : llvm::zip(operands, sources)) {
                                    if (source.constant) {
                                      scalars.push_back(source.constant);
                                      continue;
                                    }
                                    if (source.input >= 0) {
                                      scalars.push_back(arguments[source.input]);
                                      continue;
                                    }
                                    int64_t shift = rank - static_cast<int64_t>(operand.dims.size());
                                    SmallVector<Value> indices;
                                    Value zero = arith::ConstantIndexOp::create(b, at, 0);
                                    for (auto [axis, dim] : llvm::enumerate(operand.dims)) {
                                      if (dim.isConstant(1)) {
                                        indices.push_back(zero);
                                        continue;
                                      }
                                      Value i = linalg::IndexOp::create(b, at, shift + axis);
                                      if (source.isOne[axis])
                                        i = arith::SelectOp::create(b, at, source.isOne[axis], zero, i);
                                      indices.push_back(i);
                                    }
                                    scalars.push_back(tensor::ExtractOp::create(b, at, source.tensor, indices));
                                  }
                                  linalg::YieldOp::create(b, at, body(b, at, scalars));
                                });
  return generic.getResult(0);
}

Value OnnxLowering::generate(ArrayRef<OpFoldResult> extents, Type element, IndexBody body) {
  int64_t rank = extents.size();
  Value init = tensor::EmptyOp::create(builder, location, extents, signlessType(element));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(builder, location, init.getType(), ValueRange{}, init,
                                           builder.getMultiDimIdentityMap(rank), iterators,
                                           [&](OpBuilder &b, Location at, ValueRange) {
                                             SmallVector<Value> indices;
                                             for (int64_t axis = 0; axis < rank; ++axis)
                                               indices.push_back(linalg::IndexOp::create(b, at, axis));
                                             linalg::YieldOp::create(b, at, body(b, at, indices));
                                           });
  return generic.getResult(0);
}

Value OnnxLowering::map(Value tensor, Type element, ScalarBody body) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  Value init = tensor::EmptyOp::create(builder, location, tensor::getMixedSizes(builder, location, tensor),
                                       signlessType(element));
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, location, init.getType(), tensor, init, ArrayRef{identity, identity}, iterators,
      [&](OpBuilder &b, Location at, ValueRange x) { linalg::YieldOp::create(b, at, body(b, at, x.take_front())); });
  return generic.getResult(0);
}

SmallVector<Value> OnnxLowering::loops(ArrayRef<Value> extents, ValueRange init, LoopBody body) {
  Value zero = index(0), one = index(1);
  SmallVector<Value> lower(extents.size(), zero), step(extents.size(), one);
  if (extents.empty())
    return body(builder, location, {}, init);
  OpBuilder::InsertionGuard guard(builder);
  scf::LoopNest nest =
      scf::buildLoopNest(builder, location, lower, extents, step, init,
                         [&](OpBuilder &b, Location at, ValueRange indices, ValueRange carried) -> scf::ValueVector {
                           SmallVector<Value> all(indices);
                           SmallVector<Value> next = body(b, at, all, carried);
                           return scf::ValueVector(next.begin(), next.end());
                         });
  return SmallVector<Value>(nest.results);
}

Value OnnxLowering::reshape(Value tensor, ArrayRef<SymbolicExpr> from, ArrayRef<SymbolicExpr> to) {
  Type element = getElementTypeOrSelf(tensor.getType());
  SmallVector<int64_t> extents;
  for (const SymbolicExpr &dim : to)
    extents.push_back(dim.constant().value_or(ShapedType::kDynamic));
  auto target = RankedTensorType::get(extents, element);
  if (Dims(from) == Dims(to)) {
    if (tensor.getType() == target)
      return tensor;
    return tensor::CastOp::create(builder, location, target, tensor);
  }
  // Pair runs of axes with equal products; each pair is one collapse or one expand.
  SmallVector<ReassociationIndices> collapse, expand;
  size_t i = 0, j = 0;
  Dims middle;
  bool paired = true;
  while (paired && (i < from.size() || j < to.size())) {
    ReassociationIndices a, b;
    SymbolicExpr left(1), right(1);
    auto takeLeft = [&] { a.push_back(i), left = left * from[i], ++i; };
    auto takeRight = [&] { b.push_back(j), right = right * to[j], ++j; };
    if (i < from.size())
      takeLeft();
    if (j < to.size())
      takeRight();
    while (left != right) {
      bool moreLeft = i < from.size(), moreRight = j < to.size();
      if (!moreLeft && !moreRight)
        break;
      // Grow the side whose product still divides the other's.
      if (moreRight && (!moreLeft || left.dividedBy(right)))
        takeRight();
      else
        takeLeft();
    }
    paired = left == right && !a.empty() && !b.empty();
    // Unit axes at the end belong to the last pair.
    if (paired && i == from.size())
      while (j < to.size() && to[j].isConstant(1))
        takeRight();
    if (paired && j == to.size())
      while (i < from.size() && from[i].isConstant(1))
        takeLeft();
    collapse.push_back(a);
    expand.push_back(b);
    middle.push_back(left);
  }
  if (paired && !from.empty() && !to.empty()) {
    Value result = tensor;
    if (collapse.size() != from.size()) {
      SmallVector<int64_t> shape;
      for (const SymbolicExpr &dim : middle)
        shape.push_back(dim.constant().value_or(ShapedType::kDynamic));
      auto inferred = tensor::CollapseShapeOp::inferCollapsedType(cast<RankedTensorType>(result.getType()),
                                                                  SmallVector<ReassociationIndices>(collapse));
      result = tensor::CollapseShapeOp::create(builder, location, inferred, result, collapse);
      auto wanted = RankedTensorType::get(shape, element);
      if (result.getType() != wanted)
        result = tensor::CastOp::create(builder, location, wanted, result);
    }
    if (expand.size() != to.size())
      result = tensor::ExpandShapeOp::create(builder, location, target, result, expand, sizes(to));
    if (result.getType() != target)
      result = tensor::CastOp::create(builder, location, target, result);
    return result;
  }
  if (to.empty() && llvm::all_of(from, [](const SymbolicExpr &dim) { return dim.isConstant(1); }))
    return tensor::CollapseShapeOp::create(builder, location, target, tensor, ArrayRef<ReassociationIndices>{});
  if (from.empty() && llvm::all_of(to, [](const SymbolicExpr &dim) { return dim.isConstant(1); }))
    return tensor::ExpandShapeOp::create(builder, location, target, tensor, ArrayRef<ReassociationIndices>{});
  Value shape = tensor::FromElementsOp::create(
      builder, location, llvm::map_to_vector(to, [&](const SymbolicExpr &dim) { return sizeValue(dim); }));
  return tensor::ReshapeOp::create(builder, location, target, tensor, shape);
}

Value OnnxLowering::reduce(Value tensor, ArrayRef<SymbolicExpr> dims, ArrayRef<bool> reduced, Value init,
                           ScalarBody body) {
  int64_t rank = dims.size();
  Dims kept;
  SmallVector<AffineExpr> exprs;
  SmallVector<utils::IteratorType> iterators;
  for (int64_t axis = 0; axis < rank; ++axis) {
    iterators.push_back(reduced[axis] ? utils::IteratorType::reduction : utils::IteratorType::parallel);
    if (reduced[axis])
      continue;
    kept.push_back(dims[axis]);
    exprs.push_back(builder.getAffineDimExpr(axis));
  }
  Value start = filled(kept, init);
  auto generic = linalg::GenericOp::create(
      builder, location, start.getType(), tensor, start,
      ArrayRef{builder.getMultiDimIdentityMap(rank), AffineMap::get(rank, 0, exprs, builder.getContext())}, iterators,
      [&](OpBuilder &b, Location at, ValueRange x) { linalg::YieldOp::create(b, at, body(b, at, x)); });
  return generic.getResult(0);
}
