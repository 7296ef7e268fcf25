// How each operator treats a block of the batch.
// SPDX-License-Identifier: Apache-2.0
#include "dialects/Moe/MoeOps.h"
#include "dialects/Onnx/OnnxOps.h"
#include "passes/Shard/BatchAxis.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace farskip;
using namespace farskip::onnx;
using namespace mlir;

namespace {

int64_t normalized(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

/// The rules; every one returns the state of result 0 or of all results.
class Rules {
public:
  Rules(Operation *op, BatchAxis &axis) : op(op), axis(axis), shapes(axis.shapes) {}

  BatchState unknown(const Twine &why) { return BatchState::unknown(op, why); }
  BatchState data(Value value) { return axis.data(value, op); }
  int64_t rank(Value value) { return shapes.rank(value); }

  /// Numpy broadcasting of `operands`; an operand that is the same on all ranks must not reach along the batch.
  BatchState broadcast(ValueRange operands) {
    BatchState result;
    int64_t most = 0;
    for (Value operand : operands)
      most = std::max(most, rank(operand));
    for (Value operand : operands) {
      BatchState state = data(operand);
      if (state.isUnknown())
        return state;
      if (!state.isPart())
        continue;
      int64_t aligned = state.axis + most - rank(operand);
      if (result.isPart() && (result.axis != aligned || !result.matches(state)))
        return unknown("operands count sequences along different axes");
      if (!result.isPart() || !result.source)
        result = state.at(aligned);
    }
    if (result.isPart())
      for (Value operand : operands) {
        int64_t own = result.axis - (most - rank(operand));
        if (data(operand).isPart() || own < 0 || shapes.shape(operand)[own].isConstant(1))
          continue;
        return unknown("an operand that is the same on all ranks has extent " + shapes.str(shapes.shape(operand)[own]) +
                       " along the batch");
      }
    return result;
  }

  bool anyCounts(ValueRange operands) {
    return llvm::any_of(operands, [&](Value operand) { return !data(operand).isPlain(); });
  }

  SymbolicExpr unit(const BatchState &state) { return state.units.size() == 1 ? state.units[0] : SymbolicExpr(0); }

  BatchState elementwise() {
    BatchState result = broadcast(op->getOperands());
    if (!result.isPart() || !anyCounts(op->getOperands()))
      return result;
    if (isa<CastOp, IdentityOp>(op))
      return data(op->getOperand(0));
    // Numbers that count along the batch may be shifted, scaled and compared with their like.
    for (Value operand : op->getOperands())
      if (data(operand).units.size() > 1)
        return unknown("index tuples along the batch are used as numbers");
    auto of = [&](unsigned i) { return unit(data(op->getOperand(i))); };
    if (isa<AddOp>(op))
      return result.at(result.axis, {of(0) + of(1)});
    if (isa<SubOp>(op))
      return result.at(result.axis, {of(0) - of(1)});
    if (isa<MulOp>(op))
      for (unsigned i : {0u, 1u})
        if (const Dims *factor = shapes.contents(op->getOperand(i)); factor && factor->size() == 1)
          return result.at(result.axis, {of(1 - i) * (*factor)[0]});
    if (isa<EqualOp, LessOp, LessOrEqualOp, GreaterOp, GreaterOrEqualOp>(op) && of(0) == of(1))
      return result;
    return unknown("numbers that count along the batch are used in a way that depends on where it starts");
  }

  /// Operand 0 passes; the axes for which `mixes` holds are brought together.
  BatchState alongAxes(Value value, function_ref<bool(int64_t)> mixes) {
    BatchState state = data(value);
    if (!state.isPart())
      return state;
    if (mixes(state.axis))
      return unknown("it brings sequences together");
    return state.isPlain() ? state : unknown("numbers that count along the batch are mixed");
  }

  template <typename OpT> BatchState reduction(OpT reduce) {
    BatchState state = data(reduce.getData());
    if (!state.isPart())
      return state;
    std::optional<SmallVector<int64_t>> axes;
    int64_t all = rank(reduce.getData());
    SmallVector<bool> reduced(all, true);
    if (reduce.getAxes()) {
      axes = shapes.constants(reduce.getAxes());
      if (!axes)
        return unknown("its axes are known at run time only");
      if (!axes->empty() || reduce.getNoopWithEmptyAxes())
        reduced.assign(all, false);
      for (int64_t a : *axes)
        reduced[normalized(a, all)] = true;
    } else if (reduce.getNoopWithEmptyAxes()) {
      reduced.assign(all, false);
    }
    return withoutAxes(state, reduced, reduce.getKeepdims());
  }

  BatchState withoutAxes(const BatchState &state, ArrayRef<bool> reduced, bool keep) {
    if (reduced[state.axis])
      return unknown("it brings sequences together");
    if (!state.isPlain())
      return unknown("numbers that count along the batch are mixed");
    int64_t before = keep ? 0 : llvm::count(reduced.take_front(state.axis), true);
    return state.at(state.axis - before);
  }

  template <typename OpT> BatchState argument(OpT arg) {
    BatchState state = data(arg.getData());
    if (!state.isPart())
      return state;
    SmallVector<bool> reduced(rank(arg.getData()), false);
    reduced[normalized(arg.getAxis(), reduced.size())] = true;
    return withoutAxes(state, reduced, arg.getKeepdims());
  }

  /// The same elements in the same order.
  BatchState reshaped(Value from, Value to) {
    BatchState state = data(from);
    ArrayRef<SymbolicExpr> source = shapes.shape(from), target = shapes.shape(to);
    if (!state.isPart())
      return state;
    SymbolicExpr outer(1), seen(1);
    for (int64_t a = 0; a < state.axis; ++a)
      outer = outer * source[a];
    int64_t last = rank(from) - 1;
    if (state.units.size() > 1 && (state.along != last || source.back() != target.back()))
      return unknown("index tuples along the batch are taken apart");
    for (auto [a, dim] : llvm::enumerate(target)) {
      bool kept = state.isSlice() ? axis.perSequence(dim).has_value() : dim == source[state.axis];
      if (seen == outer && kept)
        return state.at(a, state.units, rank(to) - 1);
      seen = seen * dim;
    }
    return unknown("sequences do not stay apart in shape " + shapes.str(target));
  }

  BatchState transpose(TransposeOp transpose) {
    BatchState state = data(transpose.getData());
    if (!state.isPart())
      return state;
    SmallVector<int64_t> perm;
    if (std::optional<ArrayRef<int64_t>> given = transpose.getPerm())
      perm.assign(given->begin(), given->end());
    else
      for (int64_t a = rank(transpose.getData()) - 1; a >= 0; --a)
        perm.push_back(a);
    auto moved = [&](int64_t a) -> int64_t { return llvm::find(perm, a) - perm.begin(); };
    return state.at(moved(state.axis), state.units, state.units.size() > 1 ? moved(state.along) : 0);
  }

  BatchState concat(ConcatOp concat) {
    int64_t all = rank(concat.getInputs().front()), along = normalized(concat.getAxis(), all);
    BatchState result;
    for (Value input : concat.getInputs()) {
      BatchState state = data(input);
      if (state.isUnknown())
        return state;
      if (!state.isPart())
        continue;
      if (result.isPart() && (result.axis != state.axis || !result.matches(state)))
        return unknown("operands count sequences along different axes");
      if (!result.isPart() || !result.source)
        result = state.at(state.axis);
    }
    if (!result.isPart())
      return result;
    if (result.axis == along)
      return concat.getInputs().size() == 1 ? data(concat.getInputs().front())
                                            : unknown("it puts sequences one after the other");
    for (Value input : concat.getInputs())
      if (!data(input).isPart() && !shapes.shape(input)[along].isConstant(0))
        return unknown("an operand is the same on all ranks along the batch");
    if (!anyCounts(concat.getInputs()))
      return result;
    // Index tuples: one unit for each position of this axis.
    Dims units;
    for (Value input : concat.getInputs()) {
      std::optional<int64_t> width = shapes.shape(input)[along].constant();
      BatchState state = data(input);
      if (!width || *width > 16 || (state.units.size() > 1 && state.along != along))
        return unknown("index tuples of unknown width");
      for (int64_t i = 0; i < *width; ++i)
        units.push_back(state.units.size() > 1 ? state.units[i] : unit(state));
    }
    return result.at(result.axis, std::move(units), along);
  }

  /// All of the batch must stay: extents that differ along it are refused by the check of shapes.
  BatchState keepsAxis(Value from, Value to, ValueRange arguments) {
    for (Value argument : arguments)
      if (!axis.isShapeArgument(argument))
        return unknown("its bounds differ between ranks");
    BatchState state = data(from);
    if (!state.isPart())
      return state;
    if (shapes.shape(from)[state.axis] != shapes.shape(to)[state.axis])
      return unknown("it takes a part of the batch");
    return state.units.size() > 1 ? unknown("index tuples along the batch are taken apart") : state;
  }

  /// Parts of index tuples keep their units.
  SmallVector<BatchState> split(SplitOp split) {
    BatchState state = data(split.getInput());
    int64_t along = normalized(split.getAxis(), rank(split.getInput()));
    if (state.units.size() <= 1 || state.along != along) {
      SmallVector<BatchState> results;
      for (Value result : split.getResults())
        results.push_back(keepsAxis(split.getInput(), result, split->getOperands().drop_front()));
      return results;
    }
    SmallVector<BatchState> results;
    size_t first = 0;
    for (Value result : split.getResults()) {
      std::optional<int64_t> width = shapes.shape(result)[along].constant();
      if (!width || first + *width > state.units.size())
        return {unknown("index tuples of unknown width")};
      results.push_back(
          state.at(state.axis, Dims(state.units.begin() + first, state.units.begin() + first + *width), along));
      first += *width;
    }
    return results;
  }

  BatchState slice(SliceOp op) {
    BatchState state = keepsAxis(op.getData(), op.getOutput(), op->getOperands().drop_front());
    if (!state.isPart())
      return state;
    // A step of -1 keeps the extent and reverses the order.
    if (op.getSteps()) {
      std::optional<SmallVector<int64_t>> steps = shapes.constants(op.getSteps());
      if (!steps || llvm::any_of(*steps, [](int64_t step) { return step < 0; }))
        return unknown("it may reverse the batch");
    }
    return state;
  }

  /// Whether `dim` is `own` broadcast with min(1, …), once or again, as exporters write it: it is `own`, or nothing is
  /// there.
  bool isBroadcastWithUnit(const SymbolicExpr &dim, const SymbolicExpr &own) {
    std::optional<SymbolicExpr::Symbol> symbol = dim.asSymbol();
    if (!symbol)
      return false;
    const SymbolDefinition &definition = shapes.definition(*symbol);
    using Kind = SymbolDefinition::Kind;
    if (definition.kind == Kind::Min)
      return definition.lhs.isConstant(1) || definition.rhs.isConstant(1);
    if (definition.kind != Kind::Broadcast)
      return false;
    auto fits = [&](const SymbolicExpr &side) { return side == own || isBroadcastWithUnit(side, own); };
    return fits(definition.lhs) && fits(definition.rhs);
  }

  /// Stretches axes of extent 1: where that makes the batch, every rank makes its own part.
  BatchState stretched(Value from, Value to) {
    BatchState state = data(from);
    int64_t shift = rank(to) - rank(from);
    if (state.isUnknown())
      return state;
    if (state.isPart()) {
      if (state.units.size() > 1)
        return unknown("index tuples along the batch are stretched");
      const SymbolicExpr &own = shapes.shape(from)[state.axis], &now = shapes.shape(to)[state.axis + shift];
      return now == own || (state.isList() && isBroadcastWithUnit(now, own)) ? state.at(state.axis + shift, state.units)
                                                                             : unknown("it repeats the batch");
    }
    for (auto [a, dim] : llvm::enumerate(shapes.shape(to)))
      if (axis.mentionsBatch(dim)) {
        int64_t own = static_cast<int64_t>(a) - shift;
        if (own >= 0 && !shapes.shape(from)[own].isConstant(1))
          return unknown("it repeats along the batch");
        return made(a, dim);
      }
    return state;
  }

  /// All elements equal.
  BatchState filled(Value to) {
    for (auto [a, dim] : llvm::enumerate(shapes.shape(to)))
      if (axis.mentionsBatch(dim))
        return made(a, dim);
    return BatchState::same();
  }

  /// Equal entries along an axis of this extent: a slice, or a list that goes with any other of its length.
  BatchState made(int64_t a, const SymbolicExpr &extent) {
    BatchState state = BatchState::slice(a);
    if (!axis.perSequence(extent))
      state.kind = BatchState::Kind::List;
    return state;
  }

  BatchState range(RangeOp range) {
    const SymbolicExpr &length = shapes.shape(range.getOutput())[0];
    if (!axis.mentionsBatch(length)) {
      for (Value operand : range->getOperands())
        if (BatchState state = data(operand); state.kind != BatchState::Kind::Same)
          return state.isUnknown() ? state : unknown("its bounds differ between ranks");
      return BatchState::same();
    }
    const Dims *start = shapes.contents(range.getStart()), *delta = shapes.contents(range.getDelta());
    std::optional<SymbolicExpr> each = axis.perSequence(length);
    if (!start || !delta || !each || axis.mentionsBatch(*start) || axis.mentionsBatch(*delta))
      return unknown("it counts along the batch from a start that depends on it");
    return BatchState::slice(0, {*each * (*delta)[0]});
  }

  BatchState gather(GatherOp gather) {
    BatchState data = this->data(gather.getData()), indices = this->data(gather.getIndices());
    int64_t along = normalized(gather.getAxis(), rank(gather.getData())), width = rank(gather.getIndices());
    if (data.isUnknown() || indices.isUnknown())
      return data.isUnknown() ? data : indices;
    if (indices.isPart()) {
      BatchState result = indices.at(along + indices.axis);
      if (indices.units.size() > 1)
        return unknown("index tuples along the batch are used as indices");
      if (!data.isPart())
        return indices.isPlain() ? result : unknown("numbers that count along the batch index what all ranks hold");
      if (!data.isSlice() || data.axis != along || !data.isPlain())
        return unknown("each sequence takes from others");
      std::optional<SymbolicExpr> each = axis.perSequence(shapes.shape(gather.getData())[along]);
      return each && unit(indices) == *each ? result : unknown("each sequence takes from others");
    }
    if (!data.isPart())
      return data;
    int64_t place = data.axis < along ? data.axis : data.axis - 1 + width;
    if (data.units.size() > 1 && data.along == along) {
      // One position of index tuples.
      std::optional<SmallVector<int64_t>> position = shapes.constants(gather.getIndices());
      int64_t count = data.units.size();
      if (!position || position->size() != 1 || position->front() < -count || position->front() >= count)
        return unknown("index tuples along the batch are taken apart");
      return data.at(place, {data.units[normalized(position->front(), count)]});
    }
    if (data.axis == along || !data.isPlain())
      return unknown("it takes a part of the batch");
    return data.at(place);
  }

  /// Whether index tuples of `indices` address, in the leading axes of a slice, each sequence's own entries.
  bool addressesOwn(const BatchState &indices, int64_t along, const BatchState &target, Value tensor, int64_t tuple) {
    if (!target.isSlice() || target.axis >= tuple)
      return false;
    for (int64_t i = 0; i < tuple; ++i) {
      SymbolicExpr given(0);
      if (indices.units.size() > 1) {
        if (indices.along != along || static_cast<int64_t>(indices.units.size()) != tuple)
          return false;
        given = indices.units[i];
      } else if (tuple == 1) {
        given = unit(indices);
      } else if (!indices.isPlain()) {
        return false;
      }
      std::optional<SymbolicExpr> wanted =
          i == target.axis ? axis.perSequence(shapes.shape(tensor)[i]) : SymbolicExpr(0);
      if (!wanted || given != *wanted)
        return false;
    }
    return true;
  }

  BatchState gatherND(GatherNDOp gather) {
    BatchState data = this->data(gather.getData()), indices = this->data(gather.getIndices());
    if (data.isUnknown() || indices.isUnknown())
      return data.isUnknown() ? data : indices;
    std::optional<int64_t> tuple = shapes.shape(gather.getIndices()).back().constant();
    int64_t batched = gather.getBatchDims(), outer = rank(gather.getIndices()) - 1;
    if (!tuple)
      return unknown("index tuples of unknown width");
    if (batched > 0) {
      bool both = data.isSlice() && indices.isSlice() && data.axis == indices.axis && data.axis < batched;
      if (!data.isPart() && !indices.isPart())
        return BatchState::same();
      return both && indices.isPlain() && data.isPlain() ? BatchState::slice(data.axis)
                                                         : unknown("each sequence takes from others");
    }
    if (indices.isPart()) {
      if (indices.axis == outer)
        return unknown("index tuples go along the batch");
      bool own = data.isPart() ? addressesOwn(indices, outer, data, gather.getData(), *tuple) : indices.isPlain();
      return own && data.isPlain() ? indices.at(indices.axis) : unknown("each sequence takes from others");
    }
    if (!data.isPart())
      return data;
    return data.axis >= *tuple && data.isPlain() ? data.at(outer + data.axis - *tuple)
                                                 : unknown("it takes a part of the batch");
  }

  /// Operands that all count sequences along the same axis, other than `along`.
  BatchState together(ValueRange operands, int64_t along) {
    BatchState result;
    bool any = false, all = true;
    for (Value operand : operands) {
      BatchState state = data(operand);
      if (state.isUnknown())
        return state;
      any |= state.isPart();
      all &= state.isPart() && state.isPlain() &&
             (!result.isPart() || (result.axis == state.axis && result.matches(state)));
      if (state.isPart())
        result = state;
    }
    if (!any)
      return result;
    return all && result.axis != along ? result : unknown("operands do not count sequences alike");
  }

  BatchState scatterElements(ScatterElementsOp scatter) {
    int64_t along = normalized(scatter.getAxis(), rank(scatter.getData()));
    BatchState data = this->data(scatter.getData()), indices = this->data(scatter.getIndices()),
               updates = this->data(scatter.getUpdates());
    for (const BatchState *state : {&data, &indices, &updates})
      if (state->isUnknown())
        return *state;
    // A list of updates, each for its own sequence.
    if (data.isSlice() && indices.isPart() && data.axis == along && indices.axis == along && updates.axis == along &&
        indices.matches(updates) && data.isPlain() && updates.isPlain()) {
      std::optional<SymbolicExpr> each = axis.perSequence(shapes.shape(scatter.getData())[along]);
      return each && indices.units.size() == 1 && indices.units[0] == *each ? data
                                                                            : unknown("each sequence writes to others");
    }
    return together(scatter->getOperands(), along);
  }

  BatchState scatterND(ScatterNDOp scatter) {
    BatchState data = this->data(scatter.getData()), indices = this->data(scatter.getIndices()),
               updates = this->data(scatter.getUpdates());
    for (const BatchState *state : {&data, &indices, &updates})
      if (state->isUnknown())
        return *state;
    if (!data.isPart() && !indices.isPart() && !updates.isPart())
      return data;
    std::optional<int64_t> tuple = shapes.shape(scatter.getIndices()).back().constant();
    int64_t outer = rank(scatter.getIndices()) - 1;
    if (!tuple || !data.isSlice() || !data.isPlain() || !updates.isPart() || !updates.isPlain())
      return unknown("operands do not count sequences alike");
    if (indices.isPart())
      return indices.axis < outer && updates.axis == indices.axis && updates.matches(indices) &&
                     addressesOwn(indices, outer, data, scatter.getData(), *tuple)
                 ? data
                 : unknown("each sequence writes to others");
    return data.axis >= *tuple && updates.isSlice() && updates.axis == outer + data.axis - *tuple
               ? data
               : unknown("each sequence writes to others");
  }

  /// The places of what is not zero: a list that keeps the order, with indices that count along the batch.
  BatchState nonZero(NonZeroOp places) {
    BatchState state = data(places.getX());
    if (!state.isPart())
      return state;
    std::optional<SymbolicExpr> each = axis.perSequence(shapes.shape(places.getX())[state.axis]);
    if (!state.isSlice() || !state.isPlain() || !each)
      return unknown("it lists what is a list already");
    Dims units(rank(places.getX()), SymbolicExpr(0));
    units[state.axis] = *each;
    BatchState list = BatchState::slice(1, std::move(units), 0);
    list.kind = BatchState::Kind::List;
    list.source = op;
    return list;
  }

  BatchState oneHot(OneHotOp hot) {
    BatchState state = data(hot.getIndices());
    if (!state.isPart() || !state.isPlain())
      return state.isPart() ? unknown("numbers that count along the batch are used as classes") : state;
    int64_t place = normalized(hot.getAxis(), rank(hot.getIndices()) + 1);
    return state.at(state.axis + (place <= state.axis));
  }

  /// numpy.matmul: leading axes broadcast, rows stay apart.
  BatchState matmul(Value a, Value b, Value y) {
    BatchState left = data(a), right = data(b);
    if (left.isUnknown() || right.isUnknown())
      return left.isUnknown() ? left : right;
    int64_t leftRank = rank(a), rightRank = rank(b), most = std::max(leftRank, rightRank);
    if (!left.isPlain() || !right.isPlain())
      return unknown("numbers that count along the batch are multiplied");
    if (leftRank == 1 || rightRank == 1)
      return left.isPart() || right.isPart() ? unknown("it is a product with a vector") : left;
    auto leading = [&](const BatchState &state, int64_t own) { return state.axis < own - 2; };
    if (right.isPart()) {
      if (!leading(right, rightRank))
        return unknown("it brings sequences together");
      int64_t place = right.axis + most - rightRank;
      if (left.isPart())
        return leading(left, leftRank) && left.axis + most - leftRank == place && left.matches(right)
                   ? left.at(place)
                   : unknown("operands count sequences along different axes");
      int64_t own = place - (most - leftRank);
      return own < 0 || shapes.shape(a)[own].isConstant(1)
                 ? right.at(place)
                 : unknown("an operand is the same on all ranks along the batch");
    }
    if (!left.isPart())
      return left;
    if (left.axis == leftRank - 1)
      return unknown("it brings sequences together");
    int64_t place = left.axis + most - leftRank;
    if (leading(left, leftRank)) {
      int64_t own = place - (most - rightRank);
      if (own >= 0 && !shapes.shape(b)[own].isConstant(1))
        return unknown("an operand is the same on all ranks along the batch");
    }
    return left.at(place);
  }

  BatchState gemm(GemmOp gemm) {
    BatchState left = data(gemm.getA()), right = data(gemm.getB());
    if (left.isUnknown() || right.isUnknown())
      return left.isUnknown() ? left : right;
    if (right.isPart())
      return unknown("it brings sequences together");
    if (gemm.getC()) {
      BatchState bias = data(gemm.getC());
      bool row = rank(gemm.getC()) < 2 || shapes.shape(gemm.getC())[0].isConstant(1);
      if (bias.kind != BatchState::Kind::Same || (left.isPart() && !row))
        return unknown("its third operand goes along the batch");
    }
    if (!left.isPart())
      return left;
    return left.axis == (gemm.getTransA() ? 1 : 0) && left.isPlain() ? left.at(0)
                                                                     : unknown("it brings sequences together");
  }

  /// Trailing axes from `first` on are normalised.
  BatchState norm(ValueRange streams, int64_t first) {
    BatchState result = broadcast(streams);
    if (result.isPart() && result.axis >= normalized(first, rank(streams[0])))
      return unknown("it brings sequences together");
    return result;
  }

  /// Operands that are sequences along axis 0 or the same for all; sequences never meet.
  BatchState perSequence() {
    BatchState result;
    for (Value operand : op->getOperands()) {
      BatchState state = data(operand);
      if (state.isUnknown())
        return state;
      if (!state.isPart())
        continue;
      if (!state.isSlice() || state.axis != 0 || !state.isPlain())
        return unknown("an operand does not count sequences along axis 0");
      result = state;
    }
    return result;
  }

  /// Rows times weights that all ranks hold.
  BatchState rowProduct(Value rows, ValueRange weights) {
    for (Value weight : weights)
      if (data(weight).kind != BatchState::Kind::Same)
        return unknown("a weight depends on the batch");
    return alongAxes(rows, [&](int64_t a) { return a == rank(rows) - 1; });
  }

  /// Indices into axis `along` of a table that all ranks hold.
  BatchState tableRows(Value indices, ValueRange table, int64_t along) {
    for (Value part : table)
      if (data(part).kind != BatchState::Kind::Same)
        return unknown("the table depends on the batch");
    BatchState state = alongAxes(indices, [](int64_t) { return false; });
    return state.isSlice() ? BatchState::slice(state.axis + along) : state;
  }

  /// Angles are a table for all, or one row for each of the rank's own positions.
  BatchState rotary(Value x, Value positions, Value cos, Value sin) {
    BatchState result = data(x), place = positions ? data(positions) : BatchState::same();
    if (result.isUnknown() || place.isUnknown())
      return result.isUnknown() ? result : place;
    for (Value table : {cos, sin}) {
      BatchState state = data(table);
      if (state.isUnknown())
        return state;
      if (!state.isPart() ? !place.isPlain() : !state.isSlice() || state.axis != 0 || !state.isPlain())
        return unknown("its angles are not those of the rank's own positions");
      if (!state.isPart() || !positions)
        continue;
      std::optional<SymbolicExpr> each = axis.perSequence(shapes.shape(table)[0]);
      if (!place.isSlice() || place.axis != 0 || !each || unit(place) != *each)
        return unknown("its positions are not those of the rank's own angles");
    }
    bool alone = !place.isPart() && !data(cos).isPart();
    if (!result.isPart())
      return alone ? result : unknown("its angles depend on the batch and what they turn does not");
    return result.isSlice() && result.axis == 0 && result.isPlain()
               ? result
               : unknown("an operand does not count sequences along axis 0");
  }

  BatchState experts(moe::ExpertsOp experts) {
    for (Value param : experts.getParams())
      if (data(param).kind != BatchState::Kind::Same)
        return unknown("a parameter depends on the batch");
    BatchState state = together({experts.getX(), experts.getWeights(), experts.getExperts()}, 1);
    return state.isList() ? unknown("its tokens are a list") : state;
  }

  BatchState other() {
    for (Value operand : op->getOperands()) {
      BatchState state = data(operand);
      if (state.isUnknown())
        return state;
      if (state.isPart())
        return unknown("there is no rule how operator " + op->getName().stripDialect() + " treats sequences");
    }
    return op->getNumRegions()
               ? unknown("there is no rule how operator " + op->getName().stripDialect() + " treats sequences")
               : BatchState::same();
  }

  BatchState run() {
    return TypeSwitch<Operation *, BatchState>(op)
        .Case<ConstantOp, WeightOp, moe::StackOp>([&](auto) { return BatchState::same(); })
        .Case<AddOp, SubOp, MulOp, DivOp, PowOp, EqualOp, GreaterOp, LessOp, GreaterOrEqualOp, LessOrEqualOp, AndOp,
              OrOp, XorOp, MaxOp, MinOp, ModOp>([&](auto) { return elementwise(); })
        .Case<AbsOp, CeilOp, CosOp, ErfOp, ExpOp, FloorOp, IdentityOp, IsNaNOp, LogOp, NegOp, NotOp, ReciprocalOp,
              ReluOp, RoundOp, SigmoidOp, SignOp, SinOp, SoftplusOp, SqrtOp, TanhOp, GeluOp, SwishOp, MsQuickGeluOp,
              MsGeluOp, MsBiasGeluOp, MsFastGeluOp, MsGatedAddOp, ClipOp, CastOp, CastLikeOp, WhereOp>(
            [&](auto) { return elementwise(); })
        .Case<ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp, ReduceL1Op, ReduceL2Op,
              ReduceSumSquareOp>([&](auto reduce) { return reduction(reduce); })
        .Case<ArgMaxOp, ArgMinOp>([&](auto arg) { return argument(arg); })
        .Case<SoftmaxOp, LogSoftmaxOp>([&](auto soft) {
          int64_t along = normalized(soft.getAxis(), rank(soft.getInput()));
          return alongAxes(soft.getInput(), [&](int64_t a) { return a == along; });
        })
        .Case([&](TopKOp top) {
          if (!axis.isShapeArgument(top.getK()))
            return unknown("k differs between ranks");
          int64_t along = normalized(top.getAxis(), rank(top.getX()));
          return alongAxes(top.getX(), [&](int64_t a) { return a == along; });
        })
        .Case([&](CumSumOp sum) {
          std::optional<SmallVector<int64_t>> along = shapes.constants(sum.getAxis());
          return alongAxes(sum.getX(), [&](int64_t a) {
            return !along || along->size() != 1 || normalized(along->front(), rank(sum.getX())) == a;
          });
        })
        .Case([&](TriluOp part) {
          int64_t all = rank(part.getInput());
          return alongAxes(part.getInput(), [&](int64_t a) { return a >= all - 2; });
        })
        .Case<ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp>(
            [&](auto) { return reshaped(op->getOperand(0), op->getResult(0)); })
        .Case([&](TransposeOp op) { return transpose(op); })
        .Case([&](ConcatOp op) { return concat(op); })
        .Case([&](SliceOp op) { return slice(op); })
        .Case([&](NonZeroOp op) { return nonZero(op); })
        .Case<ExpandOp, TileOp>([&](auto) { return stretched(op->getOperand(0), op->getResult(0)); })
        .Case([&](ConstantOfShapeOp op) { return filled(op->getResult(0)); })
        .Case([&](RangeOp op) { return range(op); })
        .Case([&](GatherOp op) { return gather(op); })
        .Case([&](GatherNDOp op) { return gatherND(op); })
        .Case([&](GatherElementsOp op) {
          return together(op->getOperands(), normalized(op.getAxis(), rank(op.getData())));
        })
        .Case([&](ScatterElementsOp op) { return scatterElements(op); })
        .Case([&](ScatterNDOp op) { return scatterND(op); })
        .Case([&](OneHotOp op) { return oneHot(op); })
        .Case([&](MatMulOp op) { return matmul(op.getA(), op.getB(), op.getY()); })
        .Case([&](GemmOp op) { return gemm(op); })
        .Case<MsMatMulNBitsOp, MsMatMulBnb4Op>(
            [&](auto op) { return rowProduct(op.getA(), op->getOperands().drop_front()); })
        .Case<QuantizeLinearOp, DequantizeLinearOp>([&](auto op) {
          for (Value parameter : op->getOperands().drop_front())
            if (data(parameter).kind != BatchState::Kind::Same)
              return unknown("a scale depends on the batch");
          int64_t along = normalized(op.getAxis(), rank(op.getX()));
          bool scalar = shapes.elements(op->getOperand(1)).isConstant(1);
          return alongAxes(op.getX(), [&](int64_t a) { return !scalar && a == along; });
        })
        .Case([&](MsGatherBlockQuantizedOp op) {
          SmallVector<Value> table(op->getOperands());
          table.erase(table.begin() + 1);
          return tableRows(op.getIndices(), table, normalized(op.getGatherAxis(), rank(op.getData())));
        })
        .Case<LayerNormalizationOp, RMSNormalizationOp, SimplifiedLayerNormalizationOp>(
            [&](auto op) { return norm(ValueRange{op.getX()}, op.getAxis()); })
        .Case<MsSkipSimplifiedLayerNormalizationOp, MsSkipLayerNormalizationOp>(
            [&](auto op) { return norm(ValueRange{op.getInput(), op.getSkip()}, -1); })
        .Case<AttentionOp, MsGroupQueryAttentionOp, MsMultiHeadAttentionOp, TensorScatterOp, moe::AttendOp>(
            [&](auto) { return perSequence(); })
        .Case<RotaryEmbeddingOp>(
            [&](auto op) { return rotary(op.getX(), op.getPositionIds(), op.getCosCache(), op.getSinCache()); })
        .Case<MsRotaryEmbeddingOp>(
            [&](auto op) { return rotary(op.getInput(), op.getPositionIds(), op.getCosCache(), op.getSinCache()); })
        .Case([&](moe::ExpertsOp op) { return experts(op); })
        .Default([&](Operation *) { return other(); });
  }

private:
  Operation *op;
  BatchAxis &axis;
  SymbolicShapes &shapes;
};

} // namespace

SmallVector<BatchState> farskip::batchRule(Operation *op, BatchAxis &axis) {
  Rules rules(op, axis);
  if (auto split = dyn_cast<SplitOp>(op))
    return rules.split(split);
  return {rules.run()};
}
