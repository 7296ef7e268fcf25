// Which axis of every value counts the sequences of the batch.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Shard/BatchAxis.h"
#include "dialects/Moe/MoeOps.h"

using namespace farskip;
using namespace mlir;

BatchAxis::BatchAxis(func::FuncOp function, SymbolicShapes &shapes, SymbolicExpr::Symbol symbol)
    : shapes(shapes), batch(SymbolicExpr::symbol(symbol)), symbol(symbol) {
  for (BlockArgument argument : function.getArguments()) {
    BatchState state;
    for (auto [axis, dim] : llvm::enumerate(shapes.shape(argument)))
      if (dim == batch)
        state = BatchState::slice(axis);
    states[argument] = checked(state, argument, nullptr);
  }
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    visit(&op);
  for (Value result : body.getTerminator()->getOperands()) {
    BatchState state = data(result, body.getTerminator());
    if (state.isList())
      state = BatchState::unknown(result.getDefiningOp(), "it lists what the data chooses");
    if (state.isSlice() && !state.isPlain())
      state = BatchState::unknown(result.getDefiningOp(), "its numbers count along the batch");
    states[result] = state;
    if (state.isUnknown() && !failed.isUnknown())
      failed = state;
  }
}

bool BatchAxis::mentionsBatch(const SymbolicExpr &expr) {
  for (const SymbolicExpr::Term &term : expr.terms())
    for (SymbolicExpr::Symbol id : term.symbols) {
      if (id == symbol)
        return true;
      const SymbolDefinition &definition = shapes.definition(id);
      if (definition.kind != SymbolDefinition::Kind::Extent) {
        if (mentionsBatch(definition.lhs) || mentionsBatch(definition.rhs))
          return true;
      } else if (auto at = states.find(definition.value); at != states.end() && !isa<BlockArgument>(definition.value)) {
        // An extent that the data of this rank decides.
        if (at->second.kind != BatchState::Kind::Same)
          return true;
      }
    }
  return false;
}

bool BatchAxis::mentionsBatch(ArrayRef<SymbolicExpr> exprs) {
  return llvm::any_of(exprs, [&](const SymbolicExpr &expr) { return mentionsBatch(expr); });
}

BatchState BatchAxis::data(Value value, Operation *user) {
  if (const Dims *contents = shapes.contents(value))
    return mentionsBatch(*contents) ? BatchState::unknown(user, "the size of the batch is used as a number")
                                    : BatchState::same();
  return states[value];
}

bool BatchAxis::isShapeArgument(Value value) {
  return shapes.contents(value) || states[value].kind == BatchState::Kind::Same;
}

BatchState BatchAxis::checked(BatchState state, Value value, Operation *op) {
  if (state.isUnknown())
    return state;
  ArrayRef<SymbolicExpr> dims = shapes.shape(value);
  for (auto [axis, dim] : llvm::enumerate(dims)) {
    bool part = state.isPart() && static_cast<int64_t>(axis) == state.axis;
    if (part ? state.isSlice() && !perSequence(dim) : mentionsBatch(dim))
      return BatchState::unknown(op, "a value of shape " + shapes.str(dims) + " is not cut into sequences along " +
                                         (state.isPart() ? "axis " + Twine(state.axis) : Twine("any axis")));
  }
  if (state.isPart() && llvm::all_of(state.units, [](const SymbolicExpr &unit) { return unit.isConstant(0); }))
    state.units.clear();
  return state;
}

void BatchAxis::visit(Operation *op) {
  if (llvm::all_of(op->getResults(), [&](Value result) { return shapes.contents(result) != nullptr; }))
    return;
  SmallVector<BatchState> result = batchRule(op, *this);
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    states[value] = checked(result[std::min(i, result.size() - 1)], value, op);
  // What moves between ranks has to be right; anything else may turn out unused.
  if (isa<moe::ExpertsOp>(op) && states[op->getResult(0)].isUnknown() && !failed.isUnknown())
    failed = states[op->getResult(0)];
}
