// Pass raise-norms.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Recognise/GraphBuilder.h"
#include "passes/Recognise/GraphReader.h"
#include "passes/Recognise/Passes.h"

using namespace mlir;
using namespace farskip::onnx;

namespace farskip {
#define GEN_PASS_DEF_RAISENORMSPASS
#include "passes/Recognise/Passes.h.inc"

namespace {

/// (x − mean) / √(variance + epsilon), or x / √(mean square + epsilon), over the last axis.
struct Normalised {
  Value x;
  double epsilon;
  bool centered;
};

class NormReader {
public:
  explicit NormReader(SymbolicShapes &shapes) : reader(shapes) {}

  std::optional<Normalised> read(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (isa<DivOp>(op))
      return root(op->getOperand(1)) ? normalised(op->getOperand(0), *root(op->getOperand(1))) : std::nullopt;
    if (isa<MulOp>(op))
      for (unsigned i : {0u, 1u})
        if (std::optional<Root> found = inverseRoot(op->getOperand(1 - i)))
          if (std::optional<Normalised> norm = normalised(op->getOperand(i), *found))
            return norm;
    return std::nullopt;
  }

  GraphReader reader;

private:
  /// √(mean(x²) + epsilon)
  struct Root {
    Value x;
    double epsilon;
  };

  std::optional<Root> sum(Value value) {
    auto add = value.getDefiningOp<AddOp>();
    if (!add)
      return std::nullopt;
    for (unsigned i : {0u, 1u}) {
      std::optional<double> epsilon = reader.scalar(add->getOperand(1 - i));
      auto mean = add->getOperand(i).getDefiningOp<ReduceMeanOp>();
      if (!epsilon || *epsilon < 0 || !reader.reducesLast(mean))
        continue;
      Operation *square = mean.getData().getDefiningOp();
      if (isa_and_nonnull<MulOp>(square) && square->getOperand(0) == square->getOperand(1))
        return Root{square->getOperand(0), *epsilon};
      if (isa_and_nonnull<PowOp>(square) && reader.scalar(square->getOperand(1)) == 2)
        return Root{square->getOperand(0), *epsilon};
    }
    return std::nullopt;
  }

  std::optional<Root> root(Value value) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<SqrtOp>(op) || (isa_and_nonnull<PowOp>(op) && reader.scalar(op->getOperand(1)) == 0.5))
      return sum(op->getOperand(0));
    return std::nullopt;
  }

  std::optional<Root> inverseRoot(Value value) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<ReciprocalOp>(op))
      return root(op->getOperand(0));
    if (isa_and_nonnull<DivOp>(op) && reader.scalar(op->getOperand(0)) == 1)
      return root(op->getOperand(1));
    if (isa_and_nonnull<PowOp>(op) && reader.scalar(op->getOperand(1)) == -0.5)
      return sum(op->getOperand(0));
    return std::nullopt;
  }

  std::optional<Normalised> normalised(Value x, const Root &root) {
    if (x != root.x)
      return std::nullopt;
    if (auto distance = x.getDefiningOp<SubOp>()) {
      auto mean = distance.getB().getDefiningOp<ReduceMeanOp>();
      if (reader.reducesLast(mean) && mean.getData() == distance.getA())
        return Normalised{distance.getA(), root.epsilon, true};
    }
    return Normalised{x, root.epsilon, false};
  }
};

struct RaiseNormsPass : impl::RaiseNormsPassBase<RaiseNormsPass> {
  void runOnOperation() override {
    SymbolicShapes shapes;
    if (failed(shapes.run(getOperation())))
      return signalPassFailure();
    NormReader reader(shapes);
    OpBuilder builder(&getContext());
    SmallVector<Operation *> operations;
    for (Operation &op : getOperation().getBody().front().without_terminator())
      operations.push_back(&op);
    for (Operation *op : operations) {
      builder.setInsertionPoint(op);
      GraphBuilder build(builder, op->getLoc(), shapes);
      Value norm;
      if (isa<MulOp>(op))
        norm = scaled(op, reader, build);
      else if (isa<AddOp>(op))
        norm = shifted(op, build);
      if (!norm)
        continue;
      raised += isa<MulOp>(op);
      if (Attribute node = op->getAttr("onnx.node"))
        norm.getDefiningOp()->setAttr("onnx.node", node);
      op->getResult(0).replaceAllUsesWith(norm);
    }
    for (Operation *op : llvm::reverse(operations))
      if (op->use_empty() && isMemoryEffectFree(op))
        op->erase();
  }

  /// Whether `value` has one number for each of x's last axis.
  static bool alongLast(SymbolicShapes &shapes, Value value, Value x) {
    ArrayRef<SymbolicExpr> dims = shapes.shape(value);
    return dims.size() == 1 && dims[0] == shapes.shape(x).back();
  }

  /// γ · norm(x). Where x was widened and the norm narrowed again, the operation does both.
  Value scaled(Operation *op, NormReader &reader, GraphBuilder &build) {
    for (unsigned i : {0u, 1u}) {
      Value scale = op->getOperand(1 - i), inner = op->getOperand(i);
      Type element = getElementTypeOrSelf(scale.getType());
      auto narrowed = inner.getDefiningOp<CastOp>();
      std::optional<Normalised> norm = reader.read(narrowed ? narrowed.getInput() : inner);
      if (!norm || !alongLast(build.shapes, scale, norm->x))
        continue;
      Type stash = getElementTypeOrSelf(norm->x.getType());
      // Statistics are in f32 whatever the type; narrower ones were rounded on their way.
      if (!stash.isF32())
        continue;
      Value x = norm->x;
      if (narrowed) {
        auto widened = x.getDefiningOp<CastOp>();
        if (!widened || getElementTypeOrSelf(widened.getInput().getType()) != element || !isa<FloatType>(element) ||
            element.getIntOrFloatBitWidth() >= 32)
          continue;
        x = widened.getInput();
      }
      NamedAttribute epsilon = build.builder.getNamedAttr("epsilon", build.builder.getF32FloatAttr(norm->epsilon));
      if (norm->centered)
        return build.create("LayerNormalization", {x, scale, Value()}, {epsilon}, 3)->getResult(0);
      return build.create("RMSNormalization", {x, scale}, {epsilon})->getResult(0);
    }
    return {};
  }

  /// layer norm + β
  Value shifted(Operation *op, GraphBuilder &build) {
    for (unsigned i : {0u, 1u}) {
      auto norm = op->getOperand(i).getDefiningOp<LayerNormalizationOp>();
      Value bias = op->getOperand(1 - i);
      if (!norm || norm.getB() || !norm.getY().hasOneUse() || !getElementTypeOrSelf(bias.getType()).isF32() ||
          !alongLast(build.shapes, bias, norm.getX()) ||
          build.shapes.rank(norm.getX()) - 1 !=
              (norm.getAxis() < 0 ? norm.getAxis() + build.shapes.rank(norm.getX()) : norm.getAxis()))
        continue;
      return build
          .create("LayerNormalization", {norm.getX(), norm.getScale(), bias},
                  {build.builder.getNamedAttr("epsilon", norm.getEpsilonAttr())}, 3)
          ->getResult(0);
    }
    return {};
  }
};

} // namespace
} // namespace farskip
