// Warnings for exports that computed the traced input's routing and nothing else.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/DiagnoseExports.h"
#include "passes/Recognise/SortedRows.h"
#include "passes/Recognise/WeightedSum.h"
#include <set>

using namespace farskip;
using namespace mlir;

/// The experts whose masks are taken out of `comparison`; nothing when it is used in any other way.
static std::optional<std::set<int64_t>> expertsTaken(Value comparison, SymbolicShapes &shapes) {
  std::set<int64_t> taken;
  SmallVector<Value> work{comparison};
  while (!work.empty()) {
    Value at = work.pop_back_val();
    std::optional<ChoiceMask> mask = choiceMask(at, shapes);
    if (!mask)
      return std::nullopt;
    if (mask->expert) {
      taken.insert(*mask->expert);
      continue;
    }
    for (Operation *user : at.getUsers()) {
      if (isa<onnx::ShapeOp>(user) || user->use_empty())
        continue;
      llvm::append_range(work, user->getResults());
    }
  }
  return taken;
}

static void diagnoseMissingExperts(Operation *op, SymbolicShapes &shapes) {
  std::optional<ChoiceMask> mask = choiceMask(op->getResult(0), shapes);
  if (!mask || mask->expert)
    return;
  std::optional<std::set<int64_t>> taken = expertsTaken(op->getResult(0), shapes);
  int64_t count = mask->selection.count;
  if (!taken || taken->empty() || static_cast<int64_t>(taken->size()) >= count)
    return;
  op->emitWarning()
      << "tokens choose among " << count << " experts, the model computes " << taken->size()
      << " of them: the export has kept only those that the traced input reached, so the results of other "
         "inputs are wrong";
}

/// A Split of data-dependent rows into pieces whose number or sizes the trace fixed.
static void diagnoseFrozenSplit(onnx::SplitOp op, SymbolicShapes &shapes) {
  Value input = op.getInput();
  int64_t axis = fromFront(op.getAxis(), shapes.rank(input));
  if (shapes.shape(input)[axis].constant())
    return;
  Value whole = baseOfCasts(input, shapes);
  auto transpose = whole.getDefiningOp<onnx::TransposeOp>();
  if (auto places = (transpose ? transpose.getData() : whole).getDefiningOp<onnx::NonZeroOp>()) {
    op->emitWarning() << "splits the list of what is not zero into " << op.getOutputs().size()
                      << " pieces, as many as the traced input had: the results of other inputs are wrong";
    return;
  }
  std::optional<RowGather> gather = rowGather(whole, shapes);
  if (axis == 0 && op.getSplit() && shapes.constants(op.getSplit()) && gather && sortedTokens(gather->index, shapes))
    op->emitWarning() << "splits the tokens sorted by expert into " << op.getOutputs().size()
                      << " parts of the sizes that the traced input had: the results of other inputs are wrong";
}

static void diagnoseReplacedRows(Operation *op, SymbolicShapes &shapes) {
  std::optional<RowScatter> scatter = rowScatter(op->getResult(0), shapes);
  if (!scatter || scatter->adds)
    return;
  std::optional<SortedPairs> pairs = sortedTokens(scatter->index, shapes);
  if (pairs && pairs->selection.slots > 1)
    op->emitWarning() << "a token's " << pairs->selection.slots
                      << " experts write to the same row and replace each other: the export has lost the addition";
}

void farskip::diagnoseExports(Block &body, SymbolicShapes &shapes) {
  for (Operation &op : body) {
    if (isa<onnx::OneHotOp, onnx::EqualOp>(op))
      diagnoseMissingExperts(&op, shapes);
    else if (auto split = dyn_cast<onnx::SplitOp>(op))
      diagnoseFrozenSplit(split, shapes);
    else if (isa<onnx::AddOp>(op))
      diagnoseReplacedRows(&op, shapes);
  }
}
