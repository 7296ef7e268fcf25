// Which layers an option value such as `last:75%` names.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Residual/Selection.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace farskip;

static llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static std::optional<int64_t> decimal(llvm::StringRef text) {
  int64_t number;
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != llvm::StringRef::npos ||
      text.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

llvm::Expected<llvm::SmallVector<int64_t>> farskip::parseSelection(llvm::StringRef text, int64_t count) {
  auto invalid = [&] {
    return failure("'" + text +
                   "' is no selection of layers; valid are none, all, first:N, "
                   "last:N, first:P%, last:P%, "
                   "or a list such as 0,2,5-9");
  };
  llvm::SmallVector<int64_t> layers;
  auto range = [&](int64_t from, int64_t to) {
    for (int64_t k = from; k < to; ++k)
      layers.push_back(k);
  };
  if (text == "none")
    return layers;
  if (text == "all") {
    range(0, count);
    return layers;
  }
  bool first = text.starts_with("first:"), last = text.starts_with("last:");
  if (first || last) {
    llvm::StringRef amount = text.substr(text.find(':') + 1);
    bool percent = amount.consume_back("%");
    std::optional<int64_t> number = decimal(amount);
    if (!number || (percent && *number > 100))
      return invalid();
    int64_t n = percent ? (*number * count + 99) / 100 : *number;
    if (n > count)
      return failure("'" + text + "' selects " + llvm::Twine(n) + " layers, the model has " + llvm::Twine(count));
    range(first ? 0 : count - n, first ? n : count);
    return layers;
  }
  llvm::SmallVector<llvm::StringRef> items;
  text.split(items, ',');
  for (llvm::StringRef item : items) {
    auto [low, high] = item.split('-');
    std::optional<int64_t> from = decimal(low), to = item.contains('-') ? decimal(high) : from;
    if (!from || !to || *from > *to)
      return invalid();
    if (*to >= count)
      return failure("layer " + llvm::Twine(*to) + " does not exist, the model has " + llvm::Twine(count) + " layers");
    range(*from, *to + 1);
  }
  llvm::sort(layers);
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

llvm::Error farskip::checkSelection(llvm::StringRef text) {
  if (text.starts_with("first:") || text.starts_with("last:"))
    return parseSelection(text, 1000000000).takeError();
  auto layers =
      text.find_first_of("0123456789") == 0 ? parseSelection(text.take_front(64), 1000000000) : parseSelection(text, 1);
  return layers.takeError();
}
