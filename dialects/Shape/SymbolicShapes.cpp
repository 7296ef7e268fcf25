// The symbolic shape analysis.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Shape/SymbolicShapes.h"
#include "mlir/IR/BuiltinAttributes.h"

#include "dialects/Shape/SymbolicShapeOpInterface.cpp.inc"

using namespace farskip;
using namespace mlir;

using Kind = SymbolDefinition::Kind;

LogicalResult SymbolicShapes::run(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    auto names = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "onnx.dims");
    Dims dims;
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      StringAttr name = names ? dyn_cast<StringAttr>(names[axis]) : StringAttr();
      if (!type.isDynamicDim(axis))
        dims.push_back(type.getDimSize(axis));
      else
        dims.push_back(named(name ? name.getValue() : "", argument, axis));
    }
    set(argument, type.getElementType(), std::move(dims));
  }
  for (Operation &op : function.getBody().front())
    if (auto inferable = dyn_cast<SymbolicShapeOpInterface>(op))
      if (failed(inferable.inferShapes(*this)))
        return failure();
  return success();
}

ArrayRef<SymbolicExpr> SymbolicShapes::shape(Value value) {
  auto at = shapes.find(value);
  if (at != shapes.end())
    return at->second;
  Dims dims;
  auto type = cast<RankedTensorType>(value.getType());
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    dims.push_back(type.isDynamicDim(axis) ? fresh(value, axis) : SymbolicExpr(type.getDimSize(axis)));
  return shapes.try_emplace(value, std::move(dims)).first->second;
}

SymbolicExpr SymbolicShapes::elements(Value value) {
  SymbolicExpr product(1);
  for (const SymbolicExpr &dim : shape(value))
    product = product * dim;
  return product;
}

const Dims *SymbolicShapes::contents(Value value) const {
  auto at = values.find(value);
  return at == values.end() ? nullptr : &at->second;
}

std::optional<SmallVector<int64_t>> SymbolicShapes::constants(Value value) const {
  const Dims *known = contents(value);
  if (!known)
    return std::nullopt;
  SmallVector<int64_t> numbers;
  for (const SymbolicExpr &expr : *known) {
    if (!expr.constant())
      return std::nullopt;
    numbers.push_back(*expr.constant());
  }
  return numbers;
}

void SymbolicShapes::set(Value value, Type element, Dims dims) {
  SmallVector<int64_t> extents;
  for (const SymbolicExpr &dim : dims)
    extents.push_back(dim.constant().value_or(ShapedType::kDynamic));
  value.setType(RankedTensorType::get(extents, element));
  if (isa<IntegerType>(element) && llvm::is_contained(extents, 0))
    setContents(value, {});
  shapes[value] = std::move(dims);
}

void SymbolicShapes::setContents(Value value, Dims contents) {
  if (static_cast<int64_t>(contents.size()) <= kMaxTrackedElements)
    values[value] = std::move(contents);
}

SymbolicExpr SymbolicShapes::fresh(Value value, int64_t axis) { return named("", value, axis); }

SymbolicExpr SymbolicShapes::named(StringRef name, Value value, int64_t axis) {
  auto id = static_cast<SymbolicExpr::Symbol>(symbols.size());
  if (!name.empty()) {
    auto [at, inserted] = byName.try_emplace(name, id);
    if (!inserted)
      return SymbolicExpr::symbol(at->second);
  }
  symbols.push_back({Kind::Extent, name.str(), value, axis, {}, {}});
  return SymbolicExpr::symbol(id);
}

SymbolicExpr SymbolicShapes::derived(Kind kind, const SymbolicExpr &lhs, const SymbolicExpr &rhs) {
  std::string key = std::to_string(static_cast<int>(kind)) + "|" + str(lhs) + "|" + str(rhs);
  auto id = static_cast<SymbolicExpr::Symbol>(symbols.size());
  auto [at, inserted] = byDerivation.try_emplace(key, id);
  if (inserted)
    symbols.push_back({kind, "", {}, 0, lhs, rhs});
  return SymbolicExpr::symbol(at->second);
}

SymbolicExpr SymbolicShapes::floorDiv(const SymbolicExpr &lhs, const SymbolicExpr &rhs) {
  if (std::optional<SymbolicExpr> exact = lhs.dividedBy(rhs))
    return *exact;
  if (lhs.constant() && rhs.constant() && *rhs.constant() != 0) {
    int64_t a = *lhs.constant(), b = *rhs.constant(), quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
  }
  return derived(Kind::FloorDiv, lhs, rhs);
}

SymbolicExpr SymbolicShapes::ceilDiv(const SymbolicExpr &lhs, const SymbolicExpr &rhs) {
  if (std::optional<SymbolicExpr> exact = lhs.dividedBy(rhs))
    return *exact;
  if (lhs.constant() && rhs.constant() && *rhs.constant() != 0)
    return SymbolicExpr(0) - floorDiv(SymbolicExpr(0) - lhs, rhs);
  return derived(Kind::CeilDiv, lhs, rhs);
}

SymbolicExpr SymbolicShapes::max(const SymbolicExpr &lhs, const SymbolicExpr &rhs) {
  if ((lhs - rhs).isNonNegative())
    return lhs;
  if ((rhs - lhs).isNonNegative())
    return rhs;
  return derived(Kind::Max, lhs, rhs);
}

SymbolicExpr SymbolicShapes::min(const SymbolicExpr &lhs, const SymbolicExpr &rhs) {
  if ((lhs - rhs).isNonNegative())
    return rhs;
  if ((rhs - lhs).isNonNegative())
    return lhs;
  return derived(Kind::Min, lhs, rhs);
}

std::optional<SymbolicExpr> SymbolicShapes::broadcast(const SymbolicExpr &lhs, const SymbolicExpr &rhs) {
  if (lhs == rhs || rhs.isConstant(1))
    return lhs;
  if (lhs.isConstant(1))
    return rhs;
  if (lhs.constant() && rhs.constant())
    return std::nullopt;
  // A number other than 1 is the result whatever the symbol stands for; a symbol may still turn out to be 1.
  if (lhs.constant())
    return lhs;
  if (rhs.constant())
    return rhs;
  return derived(Kind::Broadcast, lhs, rhs);
}

std::optional<Dims> SymbolicShapes::broadcast(ArrayRef<SymbolicExpr> lhs, ArrayRef<SymbolicExpr> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  Dims result(lhs.begin(), lhs.end());
  size_t shift = lhs.size() - rhs.size();
  for (size_t i = 0; i < rhs.size(); ++i) {
    std::optional<SymbolicExpr> dim = broadcast(lhs[shift + i], rhs[i]);
    if (!dim)
      return std::nullopt;
    result[shift + i] = *dim;
  }
  return result;
}

std::string SymbolicShapes::str(const SymbolicExpr &expr) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (expr.terms().empty())
    return "0";
  bool first = true;
  for (const SymbolicExpr::Term &term : llvm::reverse(expr.terms())) {
    os << (first ? (term.coefficient < 0 ? "-" : "") : (term.coefficient < 0 ? " - " : " + "));
    first = false;
    uint64_t magnitude = term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient) : term.coefficient;
    if (magnitude != 1 || term.symbols.empty())
      os << magnitude << (term.symbols.empty() ? "" : "*");
    llvm::interleave(
        term.symbols, os,
        [&](SymbolicExpr::Symbol symbol) {
          const std::string &name = symbols[symbol].name;
          if (name.empty())
            os << "?" << symbol;
          else
            os << name;
        },
        "*");
  }
  return text;
}

std::string SymbolicShapes::str(ArrayRef<SymbolicExpr> dims) const {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + str(dims[i]);
  return text + "]";
}
