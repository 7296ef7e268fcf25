// Arithmetic on polynomials over dimension symbols.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Shape/SymbolicExpr.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace farskip;

SymbolicExpr::SymbolicExpr(int64_t constant) {
  if (constant)
    sum.push_back({{}, constant});
}

SymbolicExpr SymbolicExpr::symbol(Symbol symbol) {
  SymbolicExpr result;
  result.sum.push_back({{symbol}, 1});
  return result;
}

std::optional<int64_t> SymbolicExpr::constant() const {
  if (sum.empty())
    return 0;
  if (sum.size() == 1 && sum[0].symbols.empty())
    return sum[0].coefficient;
  return std::nullopt;
}

std::optional<SymbolicExpr::Symbol> SymbolicExpr::asSymbol() const {
  if (sum.size() == 1 && sum[0].symbols.size() == 1 && sum[0].coefficient == 1)
    return sum[0].symbols[0];
  return std::nullopt;
}

void SymbolicExpr::add(Term term) {
  auto *at = std::lower_bound(sum.begin(), sum.end(), term,
                              [](const Term &a, const Term &b) { return a.symbols < b.symbols; });
  if (at != sum.end() && at->symbols == term.symbols) {
    // Coefficients wrap: extents that overflow 64 bits are refused where they become a size.
    at->coefficient = static_cast<int64_t>(static_cast<uint64_t>(at->coefficient) + term.coefficient);
    if (!at->coefficient)
      sum.erase(at);
  } else if (term.coefficient) {
    sum.insert(at, std::move(term));
  }
}

SymbolicExpr SymbolicExpr::operator+(const SymbolicExpr &rhs) const {
  SymbolicExpr result = *this;
  for (const Term &term : rhs.sum)
    result.add(term);
  return result;
}

SymbolicExpr SymbolicExpr::operator-(const SymbolicExpr &rhs) const { return *this + rhs * SymbolicExpr(-1); }

SymbolicExpr SymbolicExpr::operator*(const SymbolicExpr &rhs) const {
  SymbolicExpr result;
  for (const Term &a : sum)
    for (const Term &b : rhs.sum) {
      Term term{a.symbols, static_cast<int64_t>(static_cast<uint64_t>(a.coefficient) * b.coefficient)};
      term.symbols.append(b.symbols.begin(), b.symbols.end());
      std::sort(term.symbols.begin(), term.symbols.end());
      result.add(std::move(term));
    }
  return result;
}

std::optional<SymbolicExpr> SymbolicExpr::dividedBy(const SymbolicExpr &rhs) const {
  if (rhs.sum.empty())
    return std::nullopt;
  // Polynomial long division by the leading term; exact or nothing.
  SymbolicExpr rest = *this, quotient;
  const Term &lead = rhs.sum.back();
  for (size_t step = 0; !rest.sum.empty(); ++step) {
    const Term &top = rest.sum.back();
    Term part;
    if (step > 64 || (top.coefficient == INT64_MIN && lead.coefficient == -1) || top.coefficient % lead.coefficient ||
        !std::includes(top.symbols.begin(), top.symbols.end(), lead.symbols.begin(), lead.symbols.end()))
      return std::nullopt;
    part.coefficient = top.coefficient / lead.coefficient;
    std::set_difference(top.symbols.begin(), top.symbols.end(), lead.symbols.begin(), lead.symbols.end(),
                        std::back_inserter(part.symbols));
    SymbolicExpr factor;
    factor.add(part);
    quotient = quotient + factor;
    rest = rest - factor * rhs;
  }
  return quotient;
}

bool SymbolicExpr::isNonNegative() const {
  return std::all_of(sum.begin(), sum.end(), [](const Term &term) { return term.coefficient > 0; });
}

bool SymbolicExpr::isPositive() const { return isNonNegative() && !sum.empty() && sum[0].symbols.empty(); }

bool SymbolicExpr::isNever(const SymbolicExpr &rhs) const {
  SymbolicExpr difference = *this - rhs;
  return difference.isPositive() || difference.isNegative();
}
