// The kernel that computes attention on the CPU: an online softmax over blocks of keys.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Lower/AttentionKernel.h"
#include "passes/Lower/KernelBuilder.h"
#include <limits>

using namespace mlir;

namespace farskip {

namespace {

constexpr int64_t kRows = kAttentionRows;
/// Keys of one block. Blocks begin at multiples of it, so that a row's sums are cut in the same places always.
constexpr int64_t kKeys = 64;
constexpr int64_t kLanes = 16;
/// Rows of a register tile: 6 accumulators of 16 lanes fit into the registers of AVX2 and AVX-512 alike.
constexpr int64_t kTile = 6;
static_assert(kRows % kTile == 0 && kKeys % kLanes == 0);

struct Kernel : KernelBuilder {
  Kernel(OpBuilder &builder, moe::AttentionOp op, Block &body) : KernelBuilder(builder), op(op) {
    auto operand = [&](Value of) { return kernelArgument(op, body, of); };
    q = operand(op.getQ()), k = operand(op.getK()), v = operand(op.getV()), out = body.getArguments().back();
    offsets = operand(op.getOffsets()), lengths = operand(op.getLengths());
    mask = operand(op.getMask()), sinks = operand(op.getSinks());
    element = cast<MemRefType>(q.getType()).getElementType();
    wide = element.isF64() ? element : Type(b.getF32Type());
    lanes = VectorType::get({kLanes}, wide);
    lowest = real(wide, -std::numeric_limits<double>::infinity());
    zero = index(0), one = index(1);
  }

  void build(Value begin, Value end) {
    int64_t headAxis = op.getQRowsFirst() ? 2 : 1;
    rowsPerHead = dim(q, 3 - headAxis);
    Value keyHeads = dim(k, op.getKvRowsFirst() ? 2 : 1);
    keys = dim(k, op.getKvRowsFirst() ? 1 : 2);
    group = div(dim(q, headAxis), max(keyHeads, one));
    depth = dim(q, 3), width = dim(v, 3);
    chunks = ceilDiv(width, kLanes);
    queries = scratch(depth, {kRows}, wide);
    keyPanel = scratch(depth, {kKeys}, wide);
    valuePanel = scratch(chunks, {kKeys, kLanes}, wide);
    sums = scratch(chunks, {kRows, kLanes}, wide);
    scores = scratch(index(kRows), {kKeys}, wide);
    best = scratch(index(kRows), {}, wide);
    total = scratch(index(kRows), {kLanes}, wide);
    from = scratch(index(kRows), {}, b.getIndexType());
    to = scratch(index(kRows), {}, b.getIndexType());
    if (op.getScale()) {
      scale = real(lanes, op.getScale()->convertToDouble());
    } else {
      Value number = arith::IndexCastOp::create(b, loc, b.getI64Type(), depth);
      Value root = math::SqrtOp::create(b, loc, arith::SIToFPOp::create(b, loc, wide, number));
      scale = broadcast(lanes, divf(real(wide, 1), root));
    }
    Value rows = mul(group, rowsPerHead), blocks = ceilDiv(rows, kRows), tasks = mul(keyHeads, blocks);
    loop(begin, end, 1, [&](Value task) {
      batch = div(task, tasks);
      Value inside = rem(task, tasks);
      keyHead = div(inside, blocks);
      firstRow = mul(rem(inside, blocks), index(kRows));
      count = min(index(kRows), sub(rows, firstRow));
      lastRow = sub(rows, one);
      SmallVector<Value> seen = startRows();
      Value start = mul(div(seen[0], index(kKeys)), index(kKeys));
      loop(start, seen[1], kKeys, [&](Value key) {
        firstKey = key;
        endKey = min(add(key, index(kKeys)), keys);
        packKeys();
        packValues();
        loop(zero, count, kTile, [&](Value row) { score(row); });
        loop(zero, mul(ceilDiv(count, kTile), index(kTile)), 1, [&](Value row) { softmax(row); });
        loop(zero, count, kTile, [&](Value row) { accumulate(row); });
      });
      finishRows();
    });
  }

private:
  SmallVector<Value, 4> at(Value head, Value row, Value column, bool rowsFirst) {
    return rowsFirst ? SmallVector<Value, 4>{batch, row, head, column}
                     : SmallVector<Value, 4>{batch, head, row, column};
  }
  Value wideLoad(Value buffer, ValueRange position) { return convert(load(buffer, position), wide); }
  Value fromI64(Value vector) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), load(vector, ValueRange{batch}));
  }

  /// Where a row of the task stands: its query head and its row of that head. Rows behind the last repeat it.
  std::pair<Value, Value> headAndRow(Value row) {
    Value global = min(add(firstRow, row), lastRow);
    return {add(mul(keyHead, group), div(global, rowsPerHead)), rem(global, rowsPerHead)};
  }

  /// Copies the queries, sets the rows' states, and returns the first key that any row sees and the last one's end.
  SmallVector<Value> startRows() {
    Value offset = offsets ? fromI64(offsets) : zero;
    Value length = lengths ? min(fromI64(lengths), keys) : keys;
    return loop(zero, index(kRows), 1, ValueRange{keys, zero}, [&](Value r, ValueRange extent) {
      auto [head, row] = headAndRow(r);
      Value position = add(offset, row), low = zero, high = length;
      if (op.getCausal())
        high = min(high, add(position, one));
      if (op.getRight())
        high = min(high, add(position, index(*op.getRight() + 1)));
      if (op.getLeft())
        low = max(low, sub(position, index(*op.getLeft())));
      high = max(high, low);
      store(low, from, r);
      store(high, to, r);
      loop(zero, depth, 1, [&](Value d) { store(wideLoad(q, at(head, row, d, op.getQRowsFirst())), queries, {d, r}); });
      Value first = sinks ? wideLoad(sinks, head) : op.getSmooth() ? real(wide, 0) : lowest;
      store(first, best, r);
      storeVector(real(lanes, 0), total, {r, zero});
      if (sinks || op.getSmooth())
        store(real(wide, 1), total, {r, zero});
      loop(zero, chunks, 1, [&](Value c) { storeVector(real(lanes, 0), sums, {c, r, zero}); });
      // An empty range must not widen what is read.
      Value some = less(low, high);
      return SmallVector<Value>{select(some, min(extent[0], low), extent[0]),
                                select(some, max(extent[1], high), extent[1])};
    });
  }

  void packKeys() {
    loop(firstKey, endKey, 1, [&](Value key) {
      Value column = sub(key, firstKey);
      loop(zero, depth, 1,
           [&](Value d) { store(wideLoad(k, at(keyHead, key, d, op.getKvRowsFirst())), keyPanel, {d, column}); });
    });
  }

  void packValues() {
    loop(zero, chunks, 1, [&](Value c) {
      Value first = mul(c, index(kLanes)), n = min(index(kLanes), sub(width, first));
      loop(firstKey, endKey, 1, [&](Value key) {
        Value row = sub(key, firstKey);
        loop(zero, n, 1, [&](Value lane) {
          store(wideLoad(v, at(keyHead, key, add(first, lane), op.getKvRowsFirst())), valuePanel, {c, row, lane});
        });
      });
    });
  }

  /// The keys of this block that a row sees, counted from the block's first.
  std::pair<Value, Value> range(Value row) {
    Value low = sub(max(load(from, row), firstKey), firstKey);
    Value high = sub(max(min(load(to, row), endKey), firstKey), firstKey);
    return {low, max(high, low)};
  }

  Value rounded(Value x) { return op.getRounded() ? convert(convert(x, element), wide) : x; }

  /// One chain of FMAs over the depth for each score of a tile of rows.
  void score(Value row) {
    Value low = index(kKeys), high = zero;
    for (int64_t i = 0; i < kTile; ++i) {
      auto [a, z] = range(add(row, index(i)));
      Value some = less(a, z);
      low = select(some, min(low, a), low);
      high = select(some, max(high, z), high);
    }
    loop(mul(div(low, index(kLanes)), index(kLanes)), high, kLanes, [&](Value key) {
      SmallVector<Value> start(kTile, real(lanes, 0));
      SmallVector<Value> x = loop(zero, depth, 1, start, [&](Value d, ValueRange sum) {
        SmallVector<Value> next;
        Value panel = load(lanes, keyPanel, {d, key});
        for (int64_t i = 0; i < kTile; ++i) {
          Value query = load(queries, {d, add(row, index(i))});
          next.push_back(fma(broadcast(lanes, query), panel, sum[i]));
        }
        return next;
      });
      double cap = op.getSoftcap().convertToDouble();
      for (int64_t i = 0; i < kTile; ++i) {
        Value y = rounded(mulf(rounded(x[i]), scale));
        if (cap != 0)
          y = mulf(tanh(divf(y, real(lanes, cap))), real(lanes, cap));
        storeVector(y, scores, {add(row, index(i)), key});
      }
    });
  }

  /// Adds the mask to a row's scores, or takes keys away.
  void applyMask(Value row, Value low, Value high) {
    auto [head, queryRow] = headAndRow(row);
    auto stretched = [&](Value i, int64_t axis) { return select(equal(dim(mask, axis), one), zero, i); };
    Value sequence = stretched(batch, 0);
    head = stretched(head, 1), queryRow = stretched(queryRow, 2);
    Value known = sub(max(min(add(firstKey, high), dim(mask, 3)), firstKey), firstKey);
    bool boolean = cast<MemRefType>(mask.getType()).getElementType().isInteger(1);
    loop(low, min(known, high), 1, [&](Value key) {
      Value x = load(scores, {row, key}), m = load(mask, {sequence, head, queryRow, add(firstKey, key)});
      store(boolean ? select(m, x, lowest) : addf(x, convert(m, wide)), scores, {row, key});
    });
    loop(max(low, known), high, 1, [&](Value key) { store(lowest, scores, {row, key}); });
  }

  /// Turns a row's scores of this block into exp(score − maximum so far) and rescales what was summed before.
  void softmax(Value row) {
    auto [low, high] = range(row);
    ifThen(less(low, high), [&, low = low, high = high] {
      if (mask)
        applyMask(row, low, high);
      VectorType numbers = VectorType::get({kLanes}, b.getI32Type());
      SmallVector<int32_t> steps = llvm::to_vector(llvm::seq<int32_t>(kLanes));
      Value step = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(numbers, ArrayRef(steps)));
      auto narrow = [&](Value i) -> Value {
        return broadcast(numbers, arith::IndexCastOp::create(b, loc, b.getI32Type(), i));
      };
      Value least = narrow(low), most = narrow(high), start = mul(div(low, index(kLanes)), index(kLanes));
      Value most16 = loop(start, high, kLanes, ValueRange{broadcast(lanes, lowest)}, [&](Value key, ValueRange so) {
        Value number = arith::AddIOp::create(b, loc, step, narrow(key));
        Value inside = both(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, number, least),
                            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, number, most));
        Value x = select(inside, load(lanes, scores, {row, key}), broadcast(lanes, lowest));
        storeVector(x, scores, {row, key});
        return SmallVector<Value>{maxf(so[0], x)};
      })[0];
      Value greatest = vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXNUMF, most16);
      Value before = load(best, row), after = maxf(before, greatest);
      Value safe = select(equalf(after, lowest), real(wide, 0), after);
      Value shrink = broadcast(lanes, exp(subf(before, safe))), shift = broadcast(lanes, safe);
      Value sum = mulf(load(lanes, total, {row, zero}), shrink);
      sum = loop(start, high, kLanes, ValueRange{sum}, [&](Value key, ValueRange so) {
        Value p = exp(subf(load(lanes, scores, {row, key}), shift));
        storeVector(p, scores, {row, key});
        return SmallVector<Value>{addf(so[0], p)};
      })[0];
      storeVector(sum, total, {row, zero});
      store(after, best, row);
      loop(zero, chunks, 1,
           [&](Value c) { storeVector(mulf(load(lanes, sums, {c, row, zero}), shrink), sums, {c, row, zero}); });
    });
  }

  /// Adds p · v of this block, key by key. A tile's rows go together over the keys that all of them see; no row
  /// touches a key that it does not see, whose value may be anything.
  void accumulate(Value row) {
    SmallVector<std::pair<Value, Value>> ranges;
    Value middle = zero, rest = index(kKeys);
    for (int64_t i = 0; i < kTile; ++i) {
      ranges.push_back(range(add(row, index(i))));
      middle = max(middle, ranges.back().first);
      rest = min(rest, ranges.back().second);
    }
    rest = max(rest, middle);
    auto term = [&](Value c, Value r, Value key, Value sum) {
      return fma(broadcast(lanes, load(scores, {r, key})), load(lanes, valuePanel, {c, key, zero}), sum);
    };
    loop(zero, chunks, 1, [&](Value c) {
      auto alone = [&](Value r, Value low, Value high, Value sum) {
        return loop(low, high, 1, ValueRange{sum},
                    [&](Value key, ValueRange so) { return SmallVector<Value>{term(c, r, key, so[0])}; })[0];
      };
      SmallVector<Value> rows, state;
      for (int64_t i = 0; i < kTile; ++i) {
        rows.push_back(add(row, index(i)));
        Value sum = load(lanes, sums, {c, rows[i], zero});
        state.push_back(alone(rows[i], ranges[i].first, min(ranges[i].second, middle), sum));
      }
      state = loop(middle, rest, 1, state, [&](Value key, ValueRange so) {
        SmallVector<Value> next;
        for (int64_t i = 0; i < kTile; ++i)
          next.push_back(term(c, rows[i], key, so[i]));
        return next;
      });
      for (int64_t i = 0; i < kTile; ++i) {
        Value sum = alone(rows[i], max(ranges[i].first, rest), ranges[i].second, state[i]);
        storeVector(sum, sums, {c, rows[i], zero});
      }
    });
  }

  void finishRows() {
    loop(zero, count, 1, [&](Value r) {
      auto [head, row] = headAndRow(r);
      Value all = sum(load(lanes, total, {r, zero}));
      Value none = equalf(all, real(wide, 0)), divisor = select(none, real(wide, 1), all);
      loop(zero, width, 1, [&, head = head, row = row](Value d) {
        Value x = load(sums, {div(d, index(kLanes)), r, rem(d, index(kLanes))});
        store(convert(divf(x, divisor), element), out, at(head, row, d, op.getQRowsFirst()));
      });
      if (op.getUnseen() != "zero" && !sinks && !op.getSmooth())
        ifThen(both(none, less(zero, keys)), [&, head = head, row = row] { finishUnseen(head, row); });
    });
  }

  /// A row that saw no key.
  void finishUnseen(Value head, Value row) {
    bool mean = op.getUnseen() == "mean";
    Value number = arith::SIToFPOp::create(b, loc, wide, arith::IndexCastOp::create(b, loc, b.getI64Type(), keys));
    loop(zero, width, 1, [&](Value d) {
      Value y = real(wide, std::numeric_limits<double>::quiet_NaN());
      if (mean) {
        Value all = loop(zero, keys, 1, ValueRange{real(wide, 0)}, [&](Value key, ValueRange so) {
          return SmallVector<Value>{addf(so[0], wideLoad(v, at(keyHead, key, d, op.getKvRowsFirst())))};
        })[0];
        y = divf(all, number);
      }
      store(convert(y, element), out, at(head, row, d, op.getQRowsFirst()));
    });
  }

  moe::AttentionOp op;
  Value q, k, v, offsets, lengths, mask, sinks, out;
  Type element, wide;
  VectorType lanes;
  Value lowest, zero, one, scale;
  // Extents.
  Value rowsPerHead, keys, group, depth, width, chunks;
  // Scratch: queries and key panel [depth, …], value panel and sums [chunk of 16 columns, …], scores [row, key]; for
  // each row the maximum, the sum of exponentials in 16 parts, and the keys that it sees.
  Value queries, keyPanel, valuePanel, sums, scores, best, total, from, to;
  // The task and its block of keys.
  Value batch, keyHead, firstRow, lastRow, count, firstKey, endKey;
};

} // namespace

OwningOpRef<func::FuncOp> buildAttentionKernel(moe::AttentionOp op) {
  OpBuilder builder(op.getContext());
  auto [kernel, body] = startKernel(builder, op);
  Kernel(builder, op, *body).build(body->getArgument(0), body->getArgument(1));
  return std::move(kernel);
}

Value attentionTasks(OpBuilder &builder, moe::AttentionOp op) {
  KernelBuilder kernel(builder);
  int64_t headAxis = op.getQRowsFirst() ? 2 : 1;
  Value keyHeads = kernel.dim(op.getK(), op.getKvRowsFirst() ? 2 : 1);
  Value group = kernel.div(kernel.dim(op.getQ(), headAxis), kernel.max(keyHeads, kernel.index(1)));
  Value rows = kernel.mul(group, kernel.dim(op.getQ(), 3 - headAxis));
  return kernel.mul(kernel.mul(kernel.dim(op.getQ(), 0), keyHeads), kernel.ceilDiv(rows, kAttentionRows));
}

} // namespace farskip
