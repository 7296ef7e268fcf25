// What inputs and outputs are for, where the description leaves it open.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Model/Description.h"

namespace farskip::runtime {

/// Key and value caches are [batch, heads, positions, size].
static constexpr size_t kCacheRank = 4;

static bool sameExtent(const Extent &a, const Extent &b) {
  return a.kind == b.kind && a.kind != Extent::Unknown && a.number == b.number && a.text == b.text;
}

static std::vector<size_t> cachePorts(const std::vector<Port> &ports) {
  std::vector<size_t> list;
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].dims.size() == kCacheRank && ports[i].role.empty())
      list.push_back(i);
  return list;
}

/// Exports list pasts and presents in the same order. A pair has one type and differs in its positions alone.
static bool isCachePair(const Port &past, const Port &present) {
  int different = 0;
  for (size_t axis = 0; axis < kCacheRank; ++axis)
    different += !sameExtent(past.dims[axis], present.dims[axis]);
  return past.type.name == present.type.name && past.shardAxis == present.shardAxis && different == 1 &&
         sameExtent(past.dims[0], present.dims[0]);
}

void completeRoles(Description &description) {
  for (Port &port : description.inputs)
    for (const char *role : {"attention_mask", "position_ids"})
      if (port.role.empty() && port.name == role && port.dims.size() == 2)
        port.role = role;
  std::vector<size_t> pasts = cachePorts(description.inputs), presents = cachePorts(description.outputs);
  if (!description.cache.empty() || pasts.size() != presents.size())
    return;
  std::vector<Cache> cache;
  for (size_t i = 0; i < pasts.size(); ++i) {
    if (!isCachePair(description.inputs[pasts[i]], description.outputs[presents[i]]))
      return;
    cache.push_back({pasts[i], presents[i]});
  }
  description.cache = std::move(cache);
}

} // namespace farskip::runtime
