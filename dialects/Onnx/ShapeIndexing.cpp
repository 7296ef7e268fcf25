// Shapes of operators that pick and place elements by index.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Onnx/ShapeUtils.h"

using namespace mlir;

namespace farskip::onnx {

static LogicalResult checkIndices(Operation *op, Value indices) {
  Type type = elementType(indices);
  if (type.isInteger(64) || type.isInteger(32))
    return success();
  return op->emitOpError() << "indices have element type " << type << ", wanted i64 or i32";
}

LogicalResult GatherOp::inferShapes(SymbolicShapes &shapes) {
  Dims data(shapes.shape(getData())), indices(shapes.shape(getIndices())), dims;
  FailureOr<int64_t> axis = normalizeAxis(*this, getAxis(), data.size());
  if (failed(axis) || failed(checkIndices(*this, getIndices())))
    return failure();
  dims.append(data.begin(), data.begin() + *axis);
  dims.append(indices.begin(), indices.end());
  dims.append(data.begin() + *axis + 1, data.end());
  std::optional<SmallVector<int64_t>> known = shapes.constants(getIndices());
  if (known && data[*axis].constant())
    for (int64_t index : *known)
      if (index < -*data[*axis].constant() || index >= *data[*axis].constant())
        return emitOpError() << "index " << index << " is out of range, axis " << *axis << " has "
                             << *data[*axis].constant();
  shapes.set(getOutput(), elementType(getData()), std::move(dims));
  const Dims *contents = data.size() == 1 ? shapes.contents(getData()) : nullptr;
  if (known && contents) {
    Dims picked;
    for (int64_t index : *known)
      picked.push_back((*contents)[index < 0 ? index + contents->size() : index]);
    shapes.setContents(getOutput(), std::move(picked));
  }
  return success();
}

LogicalResult GatherElementsOp::inferShapes(SymbolicShapes &shapes) {
  int64_t rank = shapes.rank(getData());
  if (failed(normalizeAxis(*this, getAxis(), rank)) || failed(checkIndices(*this, getIndices())) ||
      failed(checkRank(*this, shapes, getIndices(), "indices", rank, rank)))
    return failure();
  shapes.set(getOutput(), elementType(getData()), Dims(shapes.shape(getIndices())));
  return success();
}

/// The length of the index tuples, checked against the ranks; where the indices do not say it, that which makes
/// `pickedRank` the rank of what the tuples pick, if that is known.
static FailureOr<int64_t> tupleLength(Operation *op, SymbolicShapes &shapes, Value data, Value indices, int64_t batch,
                                      std::optional<int64_t> pickedRank) {
  ArrayRef<SymbolicExpr> dims = shapes.shape(indices);
  if (failed(checkIndices(op, indices)))
    return failure();
  int64_t rank = shapes.rank(data);
  if (dims.empty() || batch < 0 || batch >= static_cast<int64_t>(dims.size()) || batch > rank)
    return op->emitOpError() << "indices of rank " << dims.size() << " do not fit batch_dims " << batch;
  if (!dims.back().constant() && !pickedRank)
    return op->emitOpError() << "the length of the index tuples is not known before the run";
  int64_t length =
      dims.back().constant().value_or(static_cast<int64_t>(dims.size()) - 1 + rank - batch - pickedRank.value_or(0));
  if (length < 1 || length > rank - batch)
    return op->emitOpError() << "index tuples of " << length << " do not fit data of rank " << rank;
  return length;
}

LogicalResult GatherNDOp::inferShapes(SymbolicShapes &shapes) {
  Dims data(shapes.shape(getData())), indices(shapes.shape(getIndices()));
  std::optional<int64_t> declared;
  if (auto type = dyn_cast<RankedTensorType>(getOutput().getType()))
    declared = type.getRank();
  FailureOr<int64_t> length = tupleLength(*this, shapes, getData(), getIndices(), getBatchDims(), declared);
  if (failed(length))
    return failure();
  for (int64_t axis = 0; axis < getBatchDims(); ++axis)
    if (data[axis].isNever(indices[axis]))
      return emitOpError() << "batch axis " << axis << " has " << shapes.str(data[axis]) << " in the data and "
                           << shapes.str(indices[axis]) << " in the indices";
  Dims dims(ArrayRef(indices).drop_back());
  dims.append(data.begin() + getBatchDims() + *length, data.end());
  shapes.set(getOutput(), elementType(getData()), std::move(dims));
  return success();
}

static LogicalResult checkReduction(Operation *op, StringRef reduction, Type type) {
  if (!llvm::is_contained({"none", "add", "mul", "min", "max"}, reduction))
    return op->emitOpError() << "reduction '" << reduction << "' is not known; valid are none, add, mul, min, max";
  if (reduction != "none" && type.isInteger(1))
    return op->emitOpError() << "reduction '" << reduction << "' does not take bool";
  return success();
}

LogicalResult ScatterElementsOp::inferShapes(SymbolicShapes &shapes) {
  int64_t rank = shapes.rank(getData());
  if (failed(normalizeAxis(*this, getAxis(), rank)) || failed(checkIndices(*this, getIndices())) ||
      failed(checkRank(*this, shapes, getIndices(), "indices", rank, rank)) ||
      failed(checkRank(*this, shapes, getUpdates(), "updates", rank, rank)) ||
      failed(checkReduction(*this, getReduction(), elementType(getData()))))
    return failure();
  if (elementType(getUpdates()) != elementType(getData()))
    return emitOpError() << "updates have another element type than data";
  for (int64_t axis = 0; axis < rank; ++axis)
    if (shapes.shape(getIndices())[axis].isNever(shapes.shape(getUpdates())[axis]))
      return emitOpError() << "indices " << shapes.str(shapes.shape(getIndices())) << " and updates "
                           << shapes.str(shapes.shape(getUpdates())) << " differ";
  return inferLike(*this, shapes, getData());
}

LogicalResult ScatterNDOp::inferShapes(SymbolicShapes &shapes) {
  FailureOr<int64_t> length = tupleLength(*this, shapes, getData(), getIndices(), 0, shapes.rank(getUpdates()));
  if (failed(length) || failed(checkReduction(*this, getReduction(), elementType(getData()))))
    return failure();
  Dims want(shapes.shape(getIndices()).drop_back()), data(shapes.shape(getData()));
  want.append(data.begin() + *length, data.end());
  ArrayRef<SymbolicExpr> updates = shapes.shape(getUpdates());
  bool fits = updates.size() == want.size() && elementType(getUpdates()) == elementType(getData());
  for (size_t i = 0; fits && i < want.size(); ++i)
    fits = !updates[i].isNever(want[i]);
  if (!fits)
    return emitOpError() << "updates of shape " << shapes.str(updates) << ", wanted " << shapes.str(want);
  return inferLike(*this, shapes, getData());
}

LogicalResult TopKOp::inferShapes(SymbolicShapes &shapes) {
  Dims dims(shapes.shape(getX()));
  FailureOr<int64_t> axis = normalizeAxis(*this, getAxis(), dims.size());
  if (failed(axis))
    return failure();
  if (!shapes.elements(getK()).isConstant(1) && shapes.elements(getK()).constant())
    return emitOpError() << "k has shape " << shapes.str(shapes.shape(getK())) << ", wanted one element";
  const Dims *k = shapes.contents(getK());
  SymbolicExpr count;
  if (k) {
    count = (*k)[0];
    if (count.isNegative() || (count - dims[*axis]).isPositive())
      return emitOpError() << "k is " << shapes.str(count) << ", axis " << *axis << " has " << shapes.str(dims[*axis]);
  } else {
    count = shapes.fresh(getValues(), *axis);
  }
  dims[*axis] = count;
  shapes.set(getValues(), elementType(getX()), dims);
  shapes.set(getIndices(), IntegerType::get(getContext(), 64), dims);
  return success();
}

static LogicalResult inferArg(Operation *op, SymbolicShapes &shapes, int64_t axis, bool keep) {
  Dims dims(shapes.shape(op->getOperand(0)));
  FailureOr<int64_t> at = normalizeAxis(op, axis, dims.size());
  if (failed(at))
    return failure();
  if (dims[*at].isConstant(0))
    return op->emitOpError() << "axis " << *at << " is empty";
  if (keep)
    dims[*at] = 1;
  else
    dims.erase(dims.begin() + *at);
  shapes.set(op->getResult(0), IntegerType::get(op->getContext(), 64), std::move(dims));
  return success();
}
LogicalResult ArgMaxOp::inferShapes(SymbolicShapes &shapes) {
  return inferArg(*this, shapes, getAxis(), getKeepdims());
}
LogicalResult ArgMinOp::inferShapes(SymbolicShapes &shapes) {
  return inferArg(*this, shapes, getAxis(), getKeepdims());
}

LogicalResult NonZeroOp::inferShapes(SymbolicShapes &shapes) {
  int64_t rank = std::max<int64_t>(1, shapes.rank(getX()));
  shapes.set(getY(), IntegerType::get(getContext(), 64), {SymbolicExpr(rank), shapes.fresh(getY(), 1)});
  return success();
}

LogicalResult OneHotOp::inferShapes(SymbolicShapes &shapes) {
  Dims dims(shapes.shape(getIndices()));
  FailureOr<int64_t> axis = normalizeAxis(*this, getAxis(), dims.size() + 1);
  if (failed(axis))
    return failure();
  const Dims *depth = shapes.contents(getDepth());
  if (depth && (*depth)[0].isNegative())
    return emitOpError() << "depth is " << shapes.str((*depth)[0]);
  dims.insert(dims.begin() + *axis, depth ? (*depth)[0] : shapes.fresh(getOutput(), *axis));
  bool innermost = *axis == static_cast<int64_t>(dims.size()) - 1;
  shapes.set(getOutput(), elementType(getValues()), std::move(dims));
  // Exporters build the repeats of a Tile this way.
  std::optional<SmallVector<int64_t>> indices = shapes.constants(getIndices()), count = shapes.constants(getDepth());
  const Dims *values = shapes.contents(getValues());
  if (indices && count && values && innermost && values->size() == 2 &&
      static_cast<int64_t>(indices->size()) * (*count)[0] <= kMaxTrackedElements) {
    Dims contents;
    for (int64_t index : *indices)
      for (int64_t i = 0; i < (*count)[0]; ++i)
        contents.push_back((*values)[i == (index < 0 ? index + (*count)[0] : index)]);
    shapes.setContents(getOutput(), std::move(contents));
  }
  return success();
}

} // namespace farskip::onnx
