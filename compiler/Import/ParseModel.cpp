// ModelProto, FunctionProto and their small parts.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Parser.h"

#include "compiler/Import/WireFormat.h"

using namespace llvm;

namespace farskip::onnx::reader {

StringRef normalizedDomain(StringRef domain) { return domain == "ai.onnx" ? StringRef() : domain; }

Error Parser::charge(uint64_t bytes) {
  if (model.arena->charge(bytes))
    return Error::success();
  return failure("the model's structure needs more memory than the limit of " + Twine(model.arena->limit()) + " bytes");
}

DataRef Parser::reference(Bytes bytes) const {
  return {modelFile, nullptr, static_cast<uint64_t>(bytes.data() - modelBegin), bytes.size()};
}

Error Parser::parse(uint32_t file) {
  modelFile = file;
  modelBegin = model.files[file].data;
  return parseModel(StringRef(modelBegin, model.files[file].size));
}

Error Parser::parseProperty(Bytes bytes, Property &property) {
  if (Error error = charge(sizeof(Property)))
    return error;
  FieldReader fields(bytes);
  while (fields.next()) {
    switch (fields.key()) {
    case bytesField(1):
      property.key = fields.bytes();
      break;
    case bytesField(2):
      property.value = fields.bytes();
      break;
    }
  }
  return fields.takeError("StringStringEntryProto");
}

Error Parser::parseOpsetImport(Bytes bytes, OpsetImport &import) {
  if (Error error = charge(sizeof(OpsetImport)))
    return error;
  FieldReader fields(bytes);
  while (fields.next()) {
    switch (fields.key()) {
    case bytesField(1):
      import.domain = normalizedDomain(fields.bytes());
      break;
    case varintField(2):
      import.version = fields.signedVarint();
      break;
    }
  }
  return fields.takeError("OperatorSetIdProto");
}

Error Parser::parseModel(Bytes bytes) {
  bool hasGraph = false;
  FieldReader fields(bytes);
  while (fields.next()) {
    switch (fields.key()) {
    case varintField(1):
      model.irVersion = fields.signedVarint();
      break;
    case bytesField(2):
      model.producerName = fields.bytes();
      break;
    case bytesField(3):
      model.producerVersion = fields.bytes();
      break;
    case bytesField(4):
      model.domain = fields.bytes();
      break;
    case varintField(5):
      model.modelVersion = fields.signedVarint();
      break;
    case bytesField(7):
      if (hasGraph)
        return failure("the model holds two graphs; it has to hold one");
      hasGraph = true;
      if (Error error = parseGraph(fields.bytes(), model.graph, 1))
        return error;
      break;
    case bytesField(8):
      if (Error error = parseOpsetImport(fields.bytes(), model.opsetImports.emplace_back()))
        return error;
      break;
    case bytesField(14):
      if (Error error = parseProperty(fields.bytes(), model.metadata.emplace_back()))
        return error;
      break;
    case bytesField(20):
      model.hasTrainingInfo = true;
      break;
    case bytesField(25):
      if (Error error = parseFunction(fields.bytes(), model.functions.emplace_back()))
        return error;
      break;
    }
  }
  if (Error error = fields.takeError("ModelProto"))
    return error;
  if (!hasGraph)
    return failure("the file holds no graph; it is not an ONNX model, or it is cut short");
  return Error::success();
}

Error Parser::parseFunction(Bytes bytes, Function &function) {
  if (Error error = charge(sizeof(Function)))
    return error;
  auto inFunction = [&](Error error) {
    return failure("function " + quoted(function.name) + ": " + toString(std::move(error)));
  };
  // The name may come last, and messages about the body need it.
  FieldReader names(bytes);
  while (names.next()) {
    if (names.key() == bytesField(1))
      function.name = names.bytes();
    else if (names.key() == bytesField(10))
      function.domain = normalizedDomain(names.bytes());
    else if (names.key() == bytesField(13))
      function.overload = names.bytes();
  }
  if (Error error = names.takeError("FunctionProto"))
    return inFunction(std::move(error));

  auto addString = [&](std::vector<StringRef> &list, StringRef text) -> Error {
    if (Error error = charge(sizeof(StringRef)))
      return error;
    list.push_back(text);
    return Error::success();
  };
  FieldReader fields(bytes);
  while (fields.next()) {
    Error error = Error::success();
    switch (fields.key()) {
    case bytesField(4):
      error = addString(function.inputs, fields.bytes());
      break;
    case bytesField(5):
      error = addString(function.outputs, fields.bytes());
      break;
    case bytesField(6):
      error = addString(function.attributes, fields.bytes());
      break;
    case bytesField(7):
      error = addNode(fields.bytes(), function.body, 1);
      break;
    case bytesField(9):
      error = parseOpsetImport(fields.bytes(), function.opsetImports.emplace_back());
      break;
    case bytesField(11):
      error = parseAttribute(fields.bytes(), function.attributeDefaults.emplace_back(), 1);
      break;
    case bytesField(12):
      error = parseValueInfo(fields.bytes(), function.body.valueInfos.emplace_back());
      break;
    }
    if (!error && function.attributes.size() + function.attributeDefaults.size() > options.maxAttributes)
      error = failure("it has more attributes than the limit of " + Twine(options.maxAttributes));
    if (error)
      return inFunction(std::move(error));
  }
  return Error::success();
}

} // namespace farskip::onnx::reader
