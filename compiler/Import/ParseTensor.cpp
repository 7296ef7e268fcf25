// TensorProto: references for what is stored raw, conversion to raw layout for what is stored in typed fields.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Parser.h"

#include "compiler/Import/WireFormat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace farskip::onnx::reader {

namespace {
/// The typed fields of TensorProto by field number; `none` where the data is raw or external.
enum TypedField : uint32_t {
  none = 0,
  floatData = 4,
  int32Data = 5,
  stringData = 6,
  int64Data = 7,
  doubleData = 10,
  uint64Data = 11
};

StringRef fieldName(uint32_t field) {
  switch (field) {
  case floatData:
    return "float_data";
  case int32Data:
    return "int32_data";
  case stringData:
    return "string_data";
  case int64Data:
    return "int64_data";
  case doubleData:
    return "double_data";
  default:
    return "uint64_data";
  }
}

/// The typed field in which onnx.proto wants elements of `type`.
TypedField fieldFor(DataType type) {
  switch (type) {
  case DataType::Float:
  case DataType::Complex64:
    return floatData;
  case DataType::Double:
  case DataType::Complex128:
    return doubleData;
  case DataType::Int64:
    return int64Data;
  case DataType::UInt32:
  case DataType::UInt64:
    return uint64Data;
  case DataType::String:
    return stringData;
  default:
    return int32Data;
  }
}

/// The values that one int32_data or uint64_data entry may have for `type`.
std::pair<int64_t, uint64_t> entryRange(DataType type) {
  switch (type) {
  case DataType::Int8:
    return {INT8_MIN, INT8_MAX};
  case DataType::Int16:
    return {INT16_MIN, INT16_MAX};
  case DataType::Int32:
    return {INT32_MIN, INT32_MAX};
  case DataType::Bool:
    return {0, 1};
  case DataType::UInt16:
  case DataType::Float16:
  case DataType::BFloat16:
    return {0, UINT16_MAX};
  case DataType::UInt32:
    return {0, UINT32_MAX};
  default: // uint8, the 8-bit floats, and packed bytes of smaller types
    return {0, UINT8_MAX};
  }
}

/// Number of varints in a packed field: each ends with the only byte below 128.
uint64_t countVarints(StringRef bytes) {
  uint64_t count = 0;
  for (char byte : bytes)
    count += !(byte & 0x80);
  return count;
}
} // namespace

struct Parser::TensorFields {
  uint64_t dataType = 0, location = 0;
  std::optional<Bytes> raw;
  SmallVector<Property, 4> external;
  SmallVector<int64_t, 8> dims;
  uint64_t entries[12] = {}; ///< of each typed field
  Bytes lastChunk;           ///< of float_data or double_data, when it came as one packed chunk
  unsigned chunks = 0;
  bool hasSegment = false;

  /// The typed field that has entries, when there is one; `first` says where to start looking.
  uint32_t typedField(uint32_t first = 0) const {
    for (uint32_t field = first; field < std::size(entries); ++field)
      if (entries[field])
        return field;
    return none;
  }
};

bool readPackedVarints(StringRef bytes, SmallVectorImpl<int64_t> &list) {
  const char *at = bytes.begin();
  while (at != bytes.end()) {
    uint64_t value;
    if (!FieldReader::readVarint(at, bytes.end(), value))
      return false;
    list.push_back(static_cast<int64_t>(value));
  }
  return true;
}

Error Parser::scanTensor(Bytes bytes, TensorFields &tensor) {
  FieldReader fields(bytes);
  while (fields.next()) {
    switch (fields.key()) {
    case varintField(1):
      tensor.dims.push_back(fields.signedVarint());
      break;
    case bytesField(1):
      if (fields.bytes().size() > 10 * options.maxRank || !readPackedVarints(fields.bytes(), tensor.dims))
        return failure("malformed dims, or a rank above the limit of " + Twine(options.maxRank));
      break;
    case varintField(2):
      tensor.dataType = fields.varint();
      break;
    case bytesField(3):
      tensor.hasSegment = true;
      break;
    case fixed32Field(floatData):
      ++tensor.entries[floatData];
      ++tensor.chunks;
      break;
    case fixed64Field(doubleData):
      ++tensor.entries[doubleData];
      ++tensor.chunks;
      break;
    case bytesField(floatData):
    case bytesField(doubleData): {
      uint32_t field = fields.key() >> 3;
      size_t width = field == floatData ? 4 : 8;
      if (fields.bytes().size() % width)
        return failure(fieldName(field) + " has " + Twine(fields.bytes().size()) + " bytes, not a multiple of " +
                       Twine(width));
      tensor.entries[field] += fields.bytes().size() / width;
      tensor.lastChunk = fields.bytes();
      ++tensor.chunks;
      break;
    }
    case varintField(int32Data):
    case varintField(int64Data):
    case varintField(uint64Data):
      ++tensor.entries[fields.key() >> 3];
      break;
    case bytesField(int32Data):
    case bytesField(int64Data):
    case bytesField(uint64Data):
      tensor.entries[fields.key() >> 3] += countVarints(fields.bytes());
      break;
    case bytesField(stringData):
      ++tensor.entries[stringData];
      break;
    case bytesField(9):
      tensor.raw = fields.bytes();
      break;
    case bytesField(13):
      if (tensor.external.size() == 16)
        return failure("external_data has more than 16 entries; known keys: location, offset, length, checksum");
      if (Error error = parseProperty(fields.bytes(), tensor.external.emplace_back()))
        return error;
      break;
    case varintField(14):
      tensor.location = fields.varint();
      break;
    }
    if (tensor.dims.size() > options.maxRank)
      return failure("the rank is above the limit of " + Twine(options.maxRank));
  }
  return fields.takeError("TensorProto");
}

Error Parser::parseTensor(Bytes bytes, Tensor &tensor) {
  FieldReader names(bytes);
  while (names.next())
    if (names.key() == bytesField(8))
      tensor.name = names.bytes();
  TensorFields fields;
  if (Error error = scanTensor(bytes, fields))
    return error;
  if (fields.hasSegment)
    return failure("segment is set, which is obsolete and not supported");
  std::optional<DataType> type = dataTypeFromNumber(fields.dataType);
  if (!type)
    return failure("data_type is " + Twine(static_cast<int64_t>(fields.dataType)) + "; known: " + knownDataTypes());
  tensor.type = *type;
  for (int64_t dim : fields.dims)
    if (dim < 0)
      return failure("dim " + Twine(dim) + " is negative");
  if (Error error = charge(fields.dims.size() * sizeof(int64_t)))
    return error;
  tensor.dims = model.arena->copy(ArrayRef<int64_t>(fields.dims));
  return storeTensor(bytes, fields, tensor);
}

/// Product of `dims`, nothing when it does not fit 63 bits.
static std::optional<uint64_t> product(ArrayRef<int64_t> dims) {
  int64_t count = 1;
  bool empty = is_contained(dims, 0);
  for (int64_t dim : dims)
    if (MulOverflow(count, empty ? int64_t{1} : dim, count))
      return std::nullopt;
  return empty ? 0 : static_cast<uint64_t>(count);
}

Error Parser::storeTensor(Bytes bytes, const TensorFields &fields, Tensor &tensor) {
  std::optional<uint64_t> count = product(tensor.dims);
  uint64_t width = bitWidth(tensor.type), bits = 0;
  if (count && width && *count > (static_cast<uint64_t>(INT64_MAX) - 7) / width)
    count = std::nullopt;
  if (!count)
    return failure("its dims ask for more than 2^63 bits of data");
  bits = *count * width;
  uint64_t need = divideCeil(bits, uint64_t{8});
  uint32_t typed = fields.typedField();
  if (typed && fields.typedField(typed + 1))
    return failure("both " + fieldName(typed) + " and " + fieldName(fields.typedField(typed + 1)) +
                   " hold data; exactly one field may");
  if (typed && fields.raw)
    return failure("both raw_data and " + fieldName(typed) + " hold data; exactly one field may");
  if (fields.location > 1)
    return failure("data_location is " + Twine(fields.location) + "; known: 0 (default), 1 (external)");
  if (fields.location == 1) {
    if (typed || fields.raw)
      return failure("data_location is external, but " + (typed ? fieldName(typed) : StringRef("raw_data")) +
                     " holds data too");
    if (tensor.type == DataType::String)
      return failure("string data cannot be external");
    Expected<DataRef> data = externalData.resolve(fields.external, need);
    if (!data)
      return data.takeError();
    tensor.data = *data;
  } else if (!fields.external.empty()) {
    return failure("external_data is set, but data_location is not external");
  } else if (fields.raw) {
    if (tensor.type == DataType::String)
      return failure("strings cannot be in raw_data");
    if (fields.raw->size() != need)
      return failure("raw_data has " + Twine(fields.raw->size()) + " bytes, " + name(tensor.type) + " with " +
                     Twine(*count) + " elements needs " + Twine(need));
    tensor.data = reference(*fields.raw);
  } else {
    uint32_t wanted = fieldFor(tensor.type);
    if (typed && typed != wanted)
      return failure("a tensor of " + name(tensor.type) + " has its data in " + fieldName(typed) +
                     "; it has to be in raw_data or " + fieldName(wanted));
    uint64_t entries = *count;
    if (tensor.type == DataType::Complex64 || tensor.type == DataType::Complex128)
      entries *= 2;
    else if (width && width < 8)
      entries = need;
    if (fields.entries[wanted] != entries)
      return failure((typed ? fieldName(wanted) + " has " + Twine(fields.entries[wanted]).str() + " entries"
                            : std::string("there is no data")) +
                     "; " + name(tensor.type) + " with " + Twine(*count) + " elements needs " + Twine(entries));
    if (Error error = convertTypedData(bytes, fields, entries, tensor))
      return error;
  }
  if (tensor.type == DataType::Bool)
    return checkBools(tensor);
  return Error::success();
}

/// Generated code takes a bool's byte as it is, so it has to be 0 or 1.
Error Parser::checkBools(const Tensor &tensor) {
  boolBytes += tensor.data.length;
  if (boolBytes > options.maxBoolBytes)
    return failure("the bool tensors of the model have more bytes than the limit of " + Twine(options.maxBoolBytes));
  for (char byte : model.bytes(tensor))
    if (byte != 0 && byte != 1)
      return failure("a bool has the byte " + Twine(static_cast<unsigned>(static_cast<unsigned char>(byte))) +
                     "; it has to be 0 or 1");
  return Error::success();
}

Error Parser::convertTypedData(Bytes bytes, const TensorFields &fields, uint64_t entries, Tensor &tensor) {
  uint32_t field = fieldFor(tensor.type);
  if (entries == 0)
    return Error::success();
  if ((field == floatData || field == doubleData) && fields.chunks == 1 && !fields.lastChunk.empty()) {
    tensor.data = reference(fields.lastChunk); // packed floats have the raw layout
    return Error::success();
  }
  if (field == stringData) {
    if (Error error = charge(entries * sizeof(StringRef)))
      return error;
    MutableArrayRef<StringRef> strings = model.arena->make<StringRef>(entries);
    size_t next = 0;
    FieldReader reader(bytes);
    while (reader.next())
      if (reader.key() == bytesField(stringData))
        new (&strings[next++]) StringRef(reader.bytes());
    tensor.strings = strings;
    return Error::success();
  }
  size_t width = std::max(bitWidth(tensor.type) / 8, 1u);
  if (field == floatData)
    width = 4;
  else if (field == doubleData)
    width = 8;
  if (Error error = charge(entries * width))
    return error;
  MutableArrayRef<char> out = model.arena->make<char>(entries * width);
  char *to = out.data();
  auto [low, high] = entryRange(tensor.type);
  bool any = field == int64Data || tensor.type == DataType::UInt64;
  auto put = [&](uint64_t value) -> Error {
    auto entry = static_cast<int64_t>(value);
    bool fits = any || (low == 0 ? value <= high : entry >= low && entry <= static_cast<int64_t>(high));
    if (!fits)
      return failure(fieldName(field) + " entry " + Twine(entry) + " does not fit " + name(tensor.type));
    char little[8];
    support::endian::write64le(little, value);
    std::memcpy(to, little, width);
    to += width;
    return Error::success();
  };
  FieldReader reader(bytes);
  while (reader.next()) {
    if (reader.key() >> 3 != field)
      continue;
    Bytes chunk = reader.bytes();
    switch (reader.key() & 7) {
    case 1:
    case 5: {
      if (reader.key() != (field == floatData ? fixed32Field(field) : fixed64Field(field)))
        break;
      char little[8];
      support::endian::write64le(little, reader.varint());
      std::memcpy(to, little, width);
      to += width;
      break;
    }
    case 2:
      if (field == floatData || field == doubleData) {
        std::memcpy(to, chunk.data(), chunk.size());
        to += chunk.size();
        break;
      }
      for (const char *at = chunk.begin(); at != chunk.end();) {
        uint64_t value;
        if (!FieldReader::readVarint(at, chunk.end(), value))
          return failure("malformed protobuf in " + fieldName(field));
        if (Error error = put(value))
          return error;
      }
      break;
    case 0:
      if (field == floatData || field == doubleData)
        break;
      if (Error error = put(reader.varint()))
        return error;
      break;
    }
  }
  tensor.data = DataRef{DataRef::owned, out.data(), 0, out.size()};
  return Error::success();
}

} // namespace farskip::onnx::reader
