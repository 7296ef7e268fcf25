// The description that a compiled program carries: its inputs, outputs and
// ranks. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Error.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace farskip::runtime {

struct DType {
  std::string name;  ///< as in the description: f32, i64, bool, …
  std::string descr; ///< as in .npy: <f4, <i8, |b1, …
  int64_t bytes;
};
/// Nothing for an unknown name.
std::optional<DType> dtype(const std::string &name);

/// An extent: a number, a symbol, an expression over symbols, or unknown.
struct Extent {
  enum Kind { Unknown, Number, Symbol, Expression } kind = Unknown;
  int64_t number = 0;
  std::string text;
};

struct Port {
  std::string name;
  DType type;
  std::vector<Extent> dims;
  int64_t shardAxis = -1;
  bool used = true;
  std::string role;
};

struct Cache {
  size_t input, output;
};

/// A collective operation of the program; generated code names it by its index.
struct Collective {
  std::string kind, name;
  int64_t layer = -1; ///< -1: of no layer
};

struct Description {
  std::string name, buildId, attention, experts, farskipLayers, tokenizer;
  uint64_t weightsBytes = 0;
  int64_t ranks = 1;
  std::vector<Port> inputs, outputs;
  std::vector<Cache> cache;
  std::vector<Collective> collectives;
};

Status parseDescription(const char *json, Description &description);

/// Roles of attention masks and positions by their usual names, and the pairs of a key-value cache by their shapes,
/// where the description says nothing of them. `parseDescription` calls it.
void completeRoles(Description &description);

/// For people, one fact a line.
std::string describeText(const Description &description);

/// Checks an input's type and shape against its port; binds symbols, which have
/// one value across all inputs.
class ShapeChecker {
public:
  Status check(const Port &port, const std::string &descr, const std::vector<int64_t> &shape);

private:
  struct Binding {
    int64_t value;
    std::string where;
  };
  std::map<std::string, Binding> symbols;
};

} // namespace farskip::runtime
