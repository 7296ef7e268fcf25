// SparseTensorProto, made dense.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Parser.h"

#include "compiler/Import/WireFormat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace farskip::onnx::reader {

Error Parser::parseSparseTensor(Bytes bytes, Tensor &tensor) {
  Tensor values, indices;
  bool hasValues = false, hasIndices = false;
  SmallVector<int64_t, 8> dims;
  auto wrong = [&](const Twine &what) { return failure("sparse tensor " + quoted(tensor.name) + ": " + what); };
  FieldReader fields(bytes);
  while (fields.next()) {
    switch (fields.key()) {
    case bytesField(1): {
      FieldReader names(fields.bytes());
      while (names.next())
        if (names.key() == bytesField(8))
          tensor.name = names.bytes();
      if (hasValues)
        return wrong("values twice");
      hasValues = true;
      if (Error error = parseTensor(fields.bytes(), values))
        return wrong("values: " + toString(std::move(error)));
      break;
    }
    case bytesField(2):
      if (hasIndices)
        return wrong("indices twice");
      hasIndices = true;
      if (Error error = parseTensor(fields.bytes(), indices))
        return wrong("indices: " + toString(std::move(error)));
      break;
    case varintField(3):
      dims.push_back(fields.signedVarint());
      break;
    case bytesField(3):
      if (fields.bytes().size() > 10 * options.maxRank || !readPackedVarints(fields.bytes(), dims))
        return wrong("malformed dims, or a rank above the limit of " + Twine(options.maxRank));
      break;
    }
    if (dims.size() > options.maxRank)
      return wrong("the rank is above the limit of " + Twine(options.maxRank));
  }
  if (Error error = fields.takeError("SparseTensorProto"))
    return error;
  if (!hasValues || !hasIndices)
    return wrong(hasValues ? "indices are missing" : "values are missing");
  if (Error error = charge(dims.size() * sizeof(int64_t)))
    return error;
  tensor.type = values.type;
  tensor.dims = model.arena->copy(ArrayRef<int64_t>(dims));
  if (Error error = densify(values, indices, tensor))
    return wrong(toString(std::move(error)));
  return Error::success();
}

Error Parser::densify(const Tensor &values, const Tensor &indices, Tensor &tensor) {
  unsigned width = bitWidth(values.type);
  if (width == 0 || width % 8)
    return failure("values of " + name(values.type) + " are not supported");
  width /= 8;
  int64_t bytes = width;
  auto limit = static_cast<int64_t>(options.maxDenseSparseBytes);
  for (int64_t dim : tensor.dims) {
    if (dim < 1)
      return failure("dim " + Twine(dim) + " is not positive");
    if (MulOverflow(bytes, dim, bytes) || bytes > limit)
      return failure("made dense it has more bytes than the limit of " + Twine(options.maxDenseSparseBytes));
  }
  denseSparseBytes += bytes;
  if (denseSparseBytes > options.maxDenseSparseBytes)
    return failure("made dense, the sparse tensors have more bytes than the limit of " +
                   Twine(options.maxDenseSparseBytes));
  if (Error error = charge(bytes))
    return error;

  size_t rank = tensor.dims.size();
  if (values.dims.size() != 1)
    return failure("values have rank " + Twine(values.dims.size()) + "; it has to be 1");
  auto count = static_cast<uint64_t>(values.dims[0]);
  bool linear = indices.dims.size() == 1;
  bool tuples = indices.dims.size() == 2 && static_cast<uint64_t>(indices.dims[1]) == rank;
  if (indices.type != DataType::Int64 || !(linear || tuples) || static_cast<uint64_t>(indices.dims[0]) != count)
    return failure("indices have to be int64 of dims [" + Twine(count) + "] or [" + Twine(count) + ", " + Twine(rank) +
                   "]");

  MutableArrayRef<char> out = model.arena->make<char>(bytes);
  std::memset(out.data(), 0, bytes);
  ArrayRef<char> from = model.bytes(values), at = model.bytes(indices);
  int64_t elements = bytes / width, previous = -1;
  for (uint64_t i = 0; i < count; ++i) {
    int64_t position = 0;
    if (linear)
      position = static_cast<int64_t>(support::endian::read64le(at.data() + i * 8));
    for (size_t axis = 0; !linear && axis < rank; ++axis) {
      auto index = static_cast<int64_t>(support::endian::read64le(at.data() + (i * rank + axis) * 8));
      if (index < 0 || index >= tensor.dims[axis])
        return failure("index " + Twine(index) + " at entry " + Twine(i) + " is not within dim " +
                       Twine(tensor.dims[axis]));
      position = position * tensor.dims[axis] + index;
    }
    if (position < 0 || position >= elements)
      return failure("index " + Twine(position) + " at entry " + Twine(i) + " is not within its " + Twine(elements) +
                     " elements");
    if (position <= previous)
      return failure("index " + Twine(position) + " at entry " + Twine(i) +
                     " is not above the one before it; indices have to ascend");
    previous = position;
    std::memcpy(out.data() + position * width, from.data() + i * width, width);
  }
  tensor.data = DataRef{DataRef::owned, out.data(), 0, out.size()};
  return Error::success();
}

} // namespace farskip::onnx::reader
