// Fresh value names.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/Names.h"

using namespace llvm;

namespace farskip::onnx::reader {

void FreshNames::collect(const Graph &graph) {
  for (const ValueInfo &input : graph.inputs)
    add(input.name);
  for (const Tensor &tensor : graph.initializers)
    add(tensor.name);
  for (const Node &node : graph.nodes) {
    for (StringRef output : node.outputs)
      add(output);
    for (StringRef input : node.inputs)
      add(input);
    for (const Attribute &attribute : node.attributes)
      if (attribute.graph)
        collect(*attribute.graph);
  }
}

void FreshNames::prepare() {
  if (collected)
    return;
  collected = true;
  collect(model.graph);
}

StringRef FreshNames::make(StringRef base) {
  prepare();
  // Inlining nests, so a base may carry numbers already; the cut bounds what that adds up to.
  std::string prefix = base.take_front(80).str() + "_";
  while (true) {
    std::string name = prefix + std::to_string(next++);
    if (used.contains(CachedHashStringRef(name)))
      continue;
    StringRef saved = model.arena->save(name);
    add(saved);
    return saved;
  }
}

} // namespace farskip::onnx::reader
