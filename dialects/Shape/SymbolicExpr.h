// Integer expressions over named symbols: the dimensions of tensors and the contents of small shape tensors.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_SHAPE_SYMBOLICEXPR_H
#define FARSKIP_DIALECTS_SHAPE_SYMBOLICEXPR_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>

namespace farskip {

/// A polynomial with integer coefficients over symbols, kept in one canonical form, so that equal expressions compare
/// equal. Symbols are non-negative integers (extents); what a symbol stands for is kept by `SymbolTable`.
class SymbolicExpr {
public:
  using Symbol = uint32_t;
  /// coefficient · product of the symbols (sorted, with repetition); no symbols is the constant term
  struct Term {
    llvm::SmallVector<Symbol, 2> symbols;
    int64_t coefficient;
    bool operator==(const Term &) const = default;
  };

  SymbolicExpr() = default;
  SymbolicExpr(int64_t constant);
  static SymbolicExpr symbol(Symbol symbol);

  std::optional<int64_t> constant() const;
  bool isConstant(int64_t value) const { return constant() == value; }
  /// The symbol when the expression is exactly one.
  std::optional<Symbol> asSymbol() const;
  llvm::ArrayRef<Term> terms() const { return sum; }

  SymbolicExpr operator+(const SymbolicExpr &rhs) const;
  SymbolicExpr operator-(const SymbolicExpr &rhs) const;
  SymbolicExpr operator*(const SymbolicExpr &rhs) const;
  bool operator==(const SymbolicExpr &rhs) const { return sum == rhs.sum; }

  /// The quotient when the division is exact for all values of the symbols.
  std::optional<SymbolicExpr> dividedBy(const SymbolicExpr &rhs) const;

  /// Proven for all non-negative values of the symbols; false means not proven.
  bool isNonNegative() const;
  bool isPositive() const;
  bool isNegative() const { return (SymbolicExpr(0) - *this).isPositive(); }
  /// Proven to differ from `rhs` for all values of the symbols.
  bool isNever(const SymbolicExpr &rhs) const;

private:
  void add(Term term);
  llvm::SmallVector<Term, 1> sum; // sorted by symbols, no zero coefficients
};

} // namespace farskip

#endif
