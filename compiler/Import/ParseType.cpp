// ValueInfoProto, TypeProto and shapes.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Parser.h"

#include "compiler/Import/WireFormat.h"

using namespace llvm;

namespace farskip::onnx::reader {

Error Parser::parseDim(Bytes bytes, Dim &dim) {
  FieldReader fields(bytes);
  while (fields.next()) {
    switch (fields.key()) {
    case varintField(1):
      if (fields.signedVarint() < -1)
        return failure("dim is " + Twine(fields.signedVarint()) + "; it has to be 0 or more, or -1 for unknown");
      // Exporters before dim_param existed wrote -1.
      dim = fields.signedVarint() < 0 ? Dim{} : Dim{Dim::Size, fields.signedVarint(), {}};
      break;
    case bytesField(2):
      dim = fields.bytes().empty() ? Dim{} : Dim{Dim::Symbol, 0, fields.bytes()};
      break;
    }
  }
  return fields.takeError("TensorShapeProto");
}

Error Parser::parseTensorType(Bytes bytes, Type &type) {
  FieldReader fields(bytes);
  while (fields.next()) {
    switch (fields.key()) {
    case varintField(1): {
      if (fields.varint() == 0)
        break;
      std::optional<DataType> element = dataTypeFromNumber(fields.varint());
      if (!element)
        return failure("elem_type is " + Twine(fields.signedVarint()) + "; known: " + knownDataTypes());
      type.elementType = *element;
      break;
    }
    case bytesField(2): {
      type.hasShape = true;
      SmallVector<Dim> dims(type.dims);
      FieldReader shape(fields.bytes());
      while (shape.next()) {
        if (shape.key() != bytesField(1))
          continue;
        if (dims.size() == options.maxRank)
          return failure("the rank is above the limit of " + Twine(options.maxRank));
        Dim dim;
        if (Error error = parseDim(shape.bytes(), dim))
          return error;
        if (Error error = append(dims, dim))
          return error;
      }
      if (Error error = shape.takeError("TensorShapeProto"))
        return error;
      type.dims = model.arena->copy(ArrayRef<Dim>(dims));
      break;
    }
    }
  }
  return fields.takeError("TypeProto");
}

Error Parser::parseType(Bytes bytes, Type &type) {
  FieldReader fields(bytes);
  while (fields.next()) {
    switch (fields.key()) {
    case bytesField(1):
      if (type.kind != Type::Tensor)
        type = Type{};
      type.kind = Type::Tensor;
      if (Error error = parseTensorType(fields.bytes(), type))
        return error;
      break;
    case bytesField(4):
      type = Type{Type::Sequence, DataType::Undefined, false, {}};
      break;
    case bytesField(5):
      type = Type{Type::Map, DataType::Undefined, false, {}};
      break;
    case bytesField(7):
      type = Type{Type::Opaque, DataType::Undefined, false, {}};
      break;
    case bytesField(8):
      type = Type{Type::SparseTensor, DataType::Undefined, false, {}};
      break;
    case bytesField(9):
      type = Type{Type::Optional, DataType::Undefined, false, {}};
      break;
    }
  }
  return fields.takeError("TypeProto");
}

Error Parser::parseValueInfo(Bytes bytes, ValueInfo &info) {
  if (Error error = charge(sizeof(ValueInfo)))
    return error;
  Bytes type;
  FieldReader fields(bytes);
  Error error = Error::success();
  while (!error && fields.next()) {
    if (fields.key() == bytesField(1))
      info.name = fields.bytes();
    else if (fields.key() == bytesField(2)) {
      type = fields.bytes();
      error = parseType(type, info.type);
    }
  }
  if (!error)
    error = fields.takeError("ValueInfoProto");
  if (!error)
    return error;
  // The name may follow the type.
  while (fields.next())
    if (fields.key() == bytesField(1))
      info.name = fields.bytes();
  return failure("value " + quoted(info.name) + ": " + toString(std::move(error)));
}

} // namespace farskip::onnx::reader
