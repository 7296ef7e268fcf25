// The phases and their pipelines.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Phases.h"
#include "dialects/Moe/MoeOps.h"
#include "dialects/Onnx/OnnxOps.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Lower/MoeBufferization.h"
#include "passes/Lower/Passes.h"
#include "passes/Overlap/Passes.h"
#include "passes/Raise/Passes.h"
#include "passes/Recognise/Passes.h"
#include "passes/Residual/Passes.h"
#include "passes/Shard/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace farskip;
using namespace mlir;

static constexpr StringLiteral kNames[] = {"import",  "model",      "connected", "raised",
                                           "sharded", "overlapped", "buffers",   "llvm"};

StringRef farskip::phaseName(Phase phase) { return kNames[static_cast<int>(phase)]; }

std::optional<Phase> farskip::parsePhase(StringRef name) {
  for (auto [i, known] : llvm::enumerate(kNames))
    if (known == name)
      return static_cast<Phase>(i);
  return std::nullopt;
}

std::string farskip::phaseNames() { return llvm::join(std::begin(kNames), std::end(kNames), ", "); }

void farskip::buildRecognition(OpPassManager &passes, const PhaseOptions &options) {
  passes.addNestedPass<func::FuncOp>(createRaiseNormsPass());
  passes.addNestedPass<func::FuncOp>(createRaiseAttentionPass());
  passes.addNestedPass<func::FuncOp>(createRaiseExpertsPass());
  ShardBatchPassOptions batch;
  batch.ranks = options.ranks;
  batch.replicate = options.attention == "tensor";
  passes.addPass(createShardBatchPass(batch));
}

static void buildRaised(OpPassManager &passes, const PhaseOptions &options) {
  buildRecognition(passes, options);
  passes.addNestedPass<func::FuncOp>(createConvertOnnxToLinalgPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

static void buildSharded(OpPassManager &passes, const PhaseOptions &options) {
  ShardExpertsPassOptions shard;
  shard.ranks = options.ranks;
  passes.addPass(createShardExpertsPass(shard));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

static void buildOverlapped(OpPassManager &passes, const PhaseOptions &options) {
  if (options.ranks < 2 || !options.overlap)
    return;
  passes.addNestedPass<func::FuncOp>(createSplitCollectivesPass());
  ScheduleCollectivesPassOptions schedule;
  schedule.ranks = options.ranks;
  passes.addNestedPass<func::FuncOp>(createScheduleCollectivesPass(schedule));
  passes.addNestedPass<func::FuncOp>(createVerifyAsyncPass());
}

static void buildBuffers(OpPassManager &passes, const PhaseOptions &options) {
  auto shaped = [&](auto pass) {
    pass.lanes = options.kernels.lanes;
    pass.width = options.kernels.width;
    return pass;
  };
  passes.addPass(createPackWeightsPass(shaped(PackWeightsPassOptions())));
  passes.addPass(createFuseElementwisePass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createBindProgramPass());
  passes.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions oneShot;
  oneShot.bufferizeFunctionBoundaries = false;
  passes.addPass(bufferization::createOneShotBufferizePass(oneShot));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<func::FuncOp>(createLowerPlansPass());
  passes.addNestedPass<func::FuncOp>(createPlanArenaPass());
  passes.addPass(createLowerModelOpsPass());
  passes.addPass(createLowerProductsPass(shaped(LowerProductsPassOptions())));
  passes.addPass(createOutlineKernelsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

static void buildLLVM(OpPassManager &passes) {
  passes.addPass(createConvertRtToLLVMPass());
  passes.addPass(createLowerExpandShapePass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(memref::createExpandReallocPass());
  passes.addPass(arith::createArithExpandOpsPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertMathToLibmPass());
  // Masks become comparisons of arith.
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCanonicalizerPass());
}

static void buildConnected(OpPassManager &passes, const PhaseOptions &options) {
  if (options.farskip != "none")
    passes.addNestedPass<func::FuncOp>(createSplitSkipNormsPass());
  ConnectFarskipPassOptions connect;
  connect.layers = options.farskip;
  connect.part = options.farskipPart;
  passes.addPass(createConnectFarskipPass(connect));
}

void farskip::buildPhase(OpPassManager &passes, Phase phase, const PhaseOptions &options) {
  switch (phase) {
  case Phase::Connected:
    return buildConnected(passes, options);
  case Phase::Raised:
    return buildRaised(passes, options);
  case Phase::Sharded:
    return buildSharded(passes, options);
  case Phase::Overlapped:
    return buildOverlapped(passes, options);
  case Phase::Buffers:
    return buildBuffers(passes, options);
  case Phase::LLVM:
    return buildLLVM(passes);
  default:
    return;
  }
}

void farskip::registerPhasePipelines() {
  for (auto [i, name] : llvm::enumerate(kNames)) {
    auto phase = static_cast<Phase>(i);
    if (phase == Phase::Import)
      continue;
    std::string argument = ("farskip-to-" + name).str();
    std::string description = ("from the phase before to the phase " + name).str();
    PassPipelineRegistration<>(argument, description, [phase](OpPassManager &passes) { buildPhase(passes, phase); });
  }
}

void farskip::registerFarskipPasses() {
  registerFarskipRaisePasses();
  registerFarskipRecognisePasses();
  registerFarskipLowerPasses();
  registerFarskipResidualPasses();
  registerFarskipShardPasses();
  registerFarskipOverlapPasses();
}

void farskip::registerFarskipDialects(DialectRegistry &registry) {
  registry.insert<onnx::OnnxDialect, moe::MoeDialect, rt::RtDialect, affine::AffineDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  vector::VectorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(registry);
  cf::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerAllDialectInterfaceImplementations(registry);
  moe::registerBufferizableOpInterfaceExternalModels(registry);
  registerMoeBufferization(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
}
