// Pass convert-onnx-to-linalg.
// SPDX-License-Identifier: Apache-2.0
#include "passes/Raise/OnnxLowering.h"
#include "passes/Raise/Passes.h"

using namespace mlir;

namespace farskip {
#define GEN_PASS_DEF_CONVERTONNXTOLINALGPASS
#include "passes/Raise/Passes.h.inc"

namespace {
struct ConvertOnnxToLinalgPass : impl::ConvertOnnxToLinalgPassBase<ConvertOnnxToLinalgPass> {
  void runOnOperation() override {
    OnnxLoweringRegistry registry;
    populateAttentionLowerings(registry);
    populateGroupQueryAttentionLowerings(registry);
    populateConstantLowerings(registry);
    populateElementwiseLowerings(registry);
    populateFusedLowerings(registry);
    populateMultiHeadLowerings(registry);
    populateTensorScatterLowerings(registry);
    populateMatMulLowerings(registry);
    populateNormLowerings(registry);
    populateLayoutLowerings(registry);
    populateSliceLowerings(registry);
    populateActivationLowerings(registry);
    populateBitwiseLowerings(registry);
    populateIndexingLowerings(registry);
    populateScatterLowerings(registry);
    populateQuantisedLowerings(registry);
    populateQuantizeLinearLowerings(registry);
    populateMatMulBnb4Lowerings(registry);
    populateReduceLowerings(registry);
    populateRotaryLowerings(registry);
    populateMoeLowerings(registry);
    SymbolicShapes shapes;
    if (failed(shapes.run(getOperation())) || failed(OnnxLowering(shapes, registry, getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
} // namespace farskip
