// The forms and element types that operators got after opset 13; when operators and attributes came to be is the
// importer's table. Source: the version history of each operator in the ONNX standard.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Export/Opsets.h"
#include "compiler/Import/OperatorTable.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace farskip {
namespace {

enum class Elements { BFloat16, Float16, NarrowInteger, AnyInteger, Bool };

struct ElementRow {
  StringLiteral op;
  Elements elements;
  int64_t since;
};

/// NarrowInteger: 8 and 16 bits.
constexpr ElementRow kElementRows[] = {
    {"Add", Elements::NarrowInteger, 14},    {"Sub", Elements::NarrowInteger, 14},
    {"Mul", Elements::NarrowInteger, 14},    {"Div", Elements::NarrowInteger, 14},
    {"Relu", Elements::AnyInteger, 14},      {"CumSum", Elements::Float16, 14},
    {"CumSum", Elements::BFloat16, 14},      {"Pow", Elements::BFloat16, 15},
    {"Where", Elements::BFloat16, 16},       {"GreaterOrEqual", Elements::BFloat16, 16},
    {"LessOrEqual", Elements::BFloat16, 16}, {"ConstantOfShape", Elements::BFloat16, 20},
    {"ReduceMax", Elements::Bool, 20},       {"ReduceMin", Elements::Bool, 20},
    {"Cos", Elements::BFloat16, 22},         {"Sin", Elements::BFloat16, 22},
    {"Round", Elements::BFloat16, 22},       {"Softplus", Elements::BFloat16, 22},
    {"TopK", Elements::BFloat16, 24},        {"Range", Elements::Float16, 27},
    {"Range", Elements::BFloat16, 27},       {"OneHot", Elements::BFloat16, 28},
};

bool matches(Type type, Elements elements) {
  auto integer = dyn_cast<IntegerType>(type);
  switch (elements) {
  case Elements::BFloat16:
    return type.isBF16();
  case Elements::Float16:
    return type.isF16();
  case Elements::NarrowInteger:
    return integer && (integer.getWidth() == 8 || integer.getWidth() == 16);
  case Elements::AnyInteger:
    return integer && integer.getWidth() > 1;
  case Elements::Bool:
    return integer && integer.getWidth() == 1;
  }
  return false;
}

bool hasElements(Operation *op, Elements elements) {
  auto match = [&](Value value) { return matches(getElementTypeOrSelf(value.getType()), elements); };
  return llvm::any_of(op->getOperands(), match) || llvm::any_of(op->getResults(), match);
}

/// Where a form, rather than an attribute's name, is what came later.
int64_t formOpset(Operation *op, StringRef mnemonic) {
  // ONNX Runtime had it before the standard did.
  if (mnemonic == "LayerNormalization")
    return 17;
  // ReduceSum took its axes as an input earlier than the others.
  if (mnemonic.starts_with("Reduce") && mnemonic != "ReduceSum" && op->getNumOperands() > 1)
    return 18;
  if (mnemonic == "ScatterElements" || mnemonic == "ScatterND")
    if (auto reduction = op->getAttrOfType<StringAttr>("reduction"))
      if (reduction == "max" || reduction == "min")
        return 18;
  return kLowestOpset;
}

} // namespace

int64_t requiredOpset(Operation *op, ArrayRef<StringRef> written) {
  StringRef mnemonic = op->getName().stripDialect();
  int64_t opset = formOpset(op, mnemonic);
  if (ArrayRef<uint8_t> versions = onnx::reader::operatorVersions(mnemonic); !versions.empty())
    opset = std::max<int64_t>(opset, versions.front());
  for (const onnx::reader::AttributeRow &row : onnx::reader::laterAttributes(mnemonic))
    if (llvm::is_contained(written, row.attribute))
      opset = std::max<int64_t>(opset, row.since);
  for (const ElementRow &row : kElementRows)
    if (row.op == mnemonic && row.since > opset && hasElements(op, row.elements))
      opset = row.since;
  return opset;
}

int64_t irVersion(int64_t opset) { return opset < 15 ? 7 : opset < 19 ? 8 : opset < 21 ? 9 : 10; }

} // namespace farskip
