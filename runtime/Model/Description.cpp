// The description that a compiled program carries.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Model/Description.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace farskip::runtime {

using Json = nlohmann::json;

std::optional<DType> dtype(const std::string &name) {
  static const DType types[] = {{"f32", "<f4", 4}, {"f16", "<f2", 2}, {"bf16", "<V2", 2}, {"f64", "<f8", 8},
                                {"i64", "<i8", 8}, {"i32", "<i4", 4}, {"i16", "<i2", 2},  {"i8", "|i1", 1},
                                {"u64", "<u8", 8}, {"u32", "<u4", 4}, {"u16", "<u2", 2},  {"u8", "|u1", 1},
                                {"bool", "|b1", 1}};
  for (const DType &type : types)
    if (type.name == name)
      return type;
  return std::nullopt;
}

static Extent parseExtent(const Json &json) {
  Extent extent;
  if (json.is_number_integer()) {
    extent.kind = Extent::Number;
    extent.number = json.get<int64_t>();
  } else if (json.is_string()) {
    extent.text = json.get<std::string>();
    // Some exporters write constants as text.
    if (extent.text.size() <= 18 && extent.text.find_first_not_of("0123456789") == std::string::npos &&
        !extent.text.empty()) {
      extent.kind = Extent::Number;
      extent.number = std::stoll(extent.text);
      extent.text.clear();
      return extent;
    }
    bool plain = extent.text.find_first_of(" +*-") == std::string::npos;
    extent.kind = plain ? Extent::Symbol : Extent::Expression;
  }
  return extent;
}

static std::optional<Port> parsePort(const Json &json) {
  Port port;
  std::optional<DType> type = dtype(json.value("dtype", ""));
  if (!type)
    return std::nullopt;
  port.name = json.value("name", "");
  port.type = *type;
  port.shardAxis = json.value("shard_axis", int64_t{-1});
  port.used = json.value("used", true);
  port.role = json.value("role", "");
  for (const Json &dim : json["dims"])
    port.dims.push_back(parseExtent(dim));
  return port;
}

Status parseDescription(const char *text, Description &description) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("abi", 0) != 1)
    return failure(kInternal, "the program's description is damaged");
  description.name = json.value("name", "");
  description.buildId = json.value("build_id", "");
  description.attention = json.value("attention", "");
  description.experts = json.value("experts", "");
  description.farskipLayers = json.value("farskip_layers", "");
  description.tokenizer = json.value("tokenizer", "");
  description.weightsBytes = json.value("weights_bytes", uint64_t{0});
  description.ranks = json.value("ranks", int64_t{1});
  for (const char *list : {"inputs", "outputs"})
    for (const Json &item : json[list]) {
      std::optional<Port> port = parsePort(item);
      if (!port)
        return failure(kInternal, "the program's description is damaged");
      (list[0] == 'i' ? description.inputs : description.outputs).push_back(std::move(*port));
    }
  for (const Json &item : json["cache"])
    description.cache.push_back({item.value("input", size_t{0}), item.value("output", size_t{0})});
  for (const Json &item : json["collectives"])
    description.collectives.push_back(
        {item.value("kind", ""), item.value("name", ""), item.value("layer", int64_t{-1})});
  completeRoles(description);
  return {};
}

static std::string shapeText(const std::vector<Extent> &dims) {
  std::string text = "[";
  for (const Extent &dim : dims) {
    if (text.size() > 1)
      text += ", ";
    text += dim.kind == Extent::Number ? std::to_string(dim.number) : dim.text.empty() ? "?" : escaped(dim.text);
  }
  return text + "]";
}

std::string describeText(const Description &description) {
  std::string text = "program " + escaped(description.name) + "\n";
  text += "build id: " + description.buildId + "\n";
  text += "ranks: " + std::to_string(description.ranks) + " (attention " + description.attention + ", experts " +
          description.experts + ")\n";
  if (!description.farskipLayers.empty())
    text += "farskip layers: " + description.farskipLayers + "\n";
  if (!description.tokenizer.empty())
    text += "tokenizer: " + escaped(description.tokenizer) + "\n";
  text += "weights: " + std::to_string(description.weightsBytes) + " bytes\n";
  for (const auto *ports : {&description.inputs, &description.outputs}) {
    text += ports == &description.inputs ? "inputs:\n" : "outputs:\n";
    for (const Port &port : *ports) {
      text += "  " + escaped(port.name) + ": " + port.type.name + " " + shapeText(port.dims);
      text += port.used ? "\n" : " (not used)\n";
    }
  }
  return text;
}

/// The value of a sum of symbols, numbers and products `2*n` when all symbols
/// are bound.
static std::optional<int64_t> evaluate(const std::string &text, const std::map<std::string, int64_t> &bound) {
  int64_t sum = 0, sign = 1, product = 1;
  bool open = false;
  size_t i = 0;
  auto close = [&] {
    if (__builtin_mul_overflow(sign, product, &product) || __builtin_add_overflow(sum, product, &sum))
      return false;
    product = 1;
    open = false;
    return true;
  };
  while (i < text.size()) {
    char c = text[i];
    if (c == ' ') {
      ++i;
    } else if (c == '+' || c == '-') {
      if (open && !close())
        return std::nullopt;
      sign = c == '+' ? 1 : -1;
      ++i;
    } else if (c == '*') {
      ++i;
    } else {
      size_t end = std::min(text.find_first_of(" +*-", i), text.size());
      std::string word = text.substr(i, end - i);
      int64_t factor;
      if (word.find_first_not_of("0123456789") == std::string::npos && word.size() <= 18) {
        factor = std::stoll(word);
      } else {
        auto at = bound.find(word);
        if (at == bound.end())
          return std::nullopt;
        factor = at->second;
      }
      if (__builtin_mul_overflow(product, factor, &product))
        return std::nullopt;
      open = true;
      i = end;
    }
  }
  if (open && !close())
    return std::nullopt;
  return sum;
}

Status ShapeChecker::check(const Port &port, const std::string &descr, const std::vector<int64_t> &shape) {
  std::string name = "input '" + escaped(port.name) + "'";
  bool matches = descr == port.type.descr || (port.type.name == "bf16" && (descr == "|V2" || descr == "<V2"));
  if (!matches)
    return failure(kInputError, name + ": element type " + escaped(descr) + ", wanted " + port.type.name + " (" +
                                    port.type.descr + ")");
  if (shape.size() != port.dims.size())
    return failure(kInputError, name + ": rank " + std::to_string(shape.size()) + ", wanted " +
                                    std::to_string(port.dims.size()) + " " + shapeText(port.dims));
  std::map<std::string, int64_t> bound;
  for (const auto &[symbol, binding] : symbols)
    bound[symbol] = binding.value;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Extent &dim = port.dims[axis];
    std::string where = name + ", axis " + std::to_string(axis);
    if (dim.kind == Extent::Number && dim.number != shape[axis])
      return failure(kInputError,
                     where + ": extent " + std::to_string(shape[axis]) + ", wanted " + std::to_string(dim.number));
    if (dim.kind == Extent::Symbol) {
      auto [at, inserted] = symbols.try_emplace(dim.text, Binding{shape[axis], where});
      if (!inserted && at->second.value != shape[axis])
        return failure(kInputError, where + " (" + escaped(dim.text) + "): extent " + std::to_string(shape[axis]) +
                                        ", wanted " + std::to_string(at->second.value) + " as in " + at->second.where);
      bound[dim.text] = shape[axis];
    }
    if (dim.kind == Extent::Expression) {
      std::optional<int64_t> wanted = evaluate(dim.text, bound);
      if (wanted && *wanted != shape[axis])
        return failure(kInputError, where + " (" + escaped(dim.text) + "): extent " + std::to_string(shape[axis]) +
                                        ", wanted " + std::to_string(*wanted));
    }
  }
  return {};
}

} // namespace farskip::runtime
