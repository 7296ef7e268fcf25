// The description of a program that is compiled into it.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/Description.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "passes/Shard/Passes.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace farskip;
using namespace mlir;
namespace json = llvm::json;

static llvm::StringRef dtypeName(Type element) {
  if (element.isF32())
    return "f32";
  if (element.isF16())
    return "f16";
  if (element.isBF16())
    return "bf16";
  if (element.isF64())
    return "f64";
  auto integer = cast<IntegerType>(element);
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return "bool";
  case 8:
    return isUnsigned ? "u8" : "i8";
  case 16:
    return isUnsigned ? "u16" : "i16";
  case 32:
    return isUnsigned ? "u32" : "i32";
  default:
    return isUnsigned ? "u64" : "i64";
  }
}

static json::Array dimensions(RankedTensorType type, ArrayAttr names) {
  json::Array dims;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    StringAttr symbol = names ? dyn_cast<StringAttr>(names[axis]) : StringAttr();
    if (!type.isDynamicDim(axis))
      dims.push_back(type.getDimSize(axis));
    else if (symbol && !symbol.empty())
      dims.push_back(json::fixUTF8(symbol.getValue()));
    else
      dims.push_back(nullptr);
  }
  return dims;
}

static json::Object port(StringAttr name, RankedTensorType type, ArrayAttr names) {
  return json::Object{{"name", json::fixUTF8(name ? name.getValue() : "")},
                      {"dtype", dtypeName(type.getElementType())},
                      {"dims", dimensions(type, names)},
                      {"shard_axis", -1},
                      {"role", ""}};
}

/// Tokens are the rank-2 indices into a table of embeddings, perhaps through a
/// cast.
static bool isTokens(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  if (!type.getElementType().isInteger(64) || type.getRank() != 2)
    return false;
  for (OpOperand &use : argument.getUses()) {
    Operation *user = use.getOwner();
    if (user->getName().getStringRef() != "onnx.Gather" || use.getOperandNumber() != 1)
      continue;
    auto table = cast<RankedTensorType>(user->getOperand(0).getType());
    if (table.getRank() == 2 && isa<FloatType>(table.getElementType()))
      return true;
  }
  return false;
}

json::Object farskip::describeProgram(ModuleOp module, const DriverOptions &options) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  json::Array inputs, outputs;
  for (BlockArgument argument : main.getArguments()) {
    unsigned i = argument.getArgNumber();
    json::Object input =
        port(main.getArgAttrOfType<StringAttr>(i, "onnx.name"), cast<RankedTensorType>(argument.getType()),
             main.getArgAttrOfType<ArrayAttr>(i, "onnx.dims"));
    input["used"] = !argument.use_empty();
    if (isTokens(argument))
      input["role"] = "tokens";
    inputs.push_back(std::move(input));
  }
  bool logits = false;
  for (auto [i, type] : llvm::enumerate(main.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    json::Object output = port(main.getResultAttrOfType<StringAttr>(i, "onnx.name"), tensor,
                               main.getResultAttrOfType<ArrayAttr>(i, "onnx.dims"));
    // The first float output of batch, positions and vocabulary.
    if (!logits && tensor.getRank() == 3 && isa<FloatType>(tensor.getElementType())) {
      output["role"] = "logits";
      logits = true;
    }
    outputs.push_back(std::move(output));
  }
  json::Object metadata;
  std::string tokenizer;
  if (auto given = module->getAttrOfType<DictionaryAttr>("onnx.metadata"))
    for (NamedAttribute entry : given) {
      llvm::StringRef value = cast<StringAttr>(entry.getValue()).getValue();
      metadata[json::fixUTF8(entry.getName().getValue())] = json::fixUTF8(value);
      if (entry.getName() == "farskip.tokenizer")
        tokenizer = value.str();
    }
  auto layers = module->getAttrOfType<StringAttr>("farskip.layers");
  return json::Object{{"abi", 1},
                      {"name", llvm::sys::path::filename(options.output)},
                      {"ranks", options.ranks},
                      {"attention", options.attention},
                      {"experts", options.experts},
                      {"farskip_layers", layers ? layers.getValue() : ""},
                      {"tokenizer", json::fixUTF8(tokenizer)},
                      {"metadata", std::move(metadata)},
                      {"inputs", std::move(inputs)},
                      {"outputs", std::move(outputs)},
                      {"cache", json::Array()},
                      {"collectives", json::Array()},
                      {"regions", json::Array()}};
}

void farskip::describeDistribution(ModuleOp module, json::Object &description) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  json::Array &inputs = *description.getArray("inputs"), &outputs = *description.getArray("outputs");
  for (BlockArgument argument : main.getArguments()) {
    unsigned i = argument.getArgNumber();
    json::Object &input = *inputs[i].getAsObject();
    input["dims"] =
        dimensions(cast<RankedTensorType>(argument.getType()), main.getArgAttrOfType<ArrayAttr>(i, "onnx.dims"));
    if (auto axis = main.getArgAttrOfType<IntegerAttr>(i, kShardAxisAttr))
      input["shard_axis"] = axis.getInt();
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (auto axis = main.getResultAttrOfType<IntegerAttr>(i, kShardAxisAttr))
      (*outputs[i].getAsObject())["shard_axis"] = axis.getInt();
  json::Array &collectives = *description.getArray("collectives");
  if (auto table = module->getAttrOfType<ArrayAttr>(kCollectivesAttr))
    for (auto entry : table.getAsRange<DictionaryAttr>())
      collectives.push_back(json::Object{{"kind", entry.getAs<StringAttr>("kind").getValue()},
                                         {"name", json::fixUTF8(entry.getAs<StringAttr>("name").getValue())},
                                         {"layer", -1}});
}

void farskip::embedDescription(ModuleOp module, llvm::StringRef description, llvm::StringRef buildId,
                               uint64_t weightsBytes) {
  std::string text = llvm::formatv("{{\"build_id\":\"{0}\",\"weights_bytes\":{1},", buildId, weightsBytes).str() +
                     description.drop_front().str();
  text.push_back('\0');
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  LLVM::GlobalOp::create(b, b.getUnknownLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), text.size()),
                         /*isConstant=*/true, LLVM::Linkage::External, "farskip_model_json", b.getStringAttr(text));
}
