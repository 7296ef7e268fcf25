// The CPU target.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Target/Cpu.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/Lower/Passes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace farskip;

static llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static llvm::Expected<const llvm::Target *> findTarget(const llvm::Triple &triple) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return failure(message);
  return target;
}

llvm::Error farskip::checkCpu(const CpuOptions &options) {
  if (options.cpu == "native")
    return llvm::Error::success();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  auto target = findTarget(triple);
  if (!target)
    return target.takeError();
  // Asked of a subtarget without a name: one with an unknown name prints to stderr.
  std::unique_ptr<llvm::MCSubtargetInfo> known((*target)->createMCSubtargetInfo(triple, "", ""));
  if (!known->isCPUStringValid(options.cpu))
    return failure("'--cpu=" + options.cpu + "': no such CPU; valid are native and LLVM's names, such as x86-64-v3");
  std::unique_ptr<llvm::MCSubtargetInfo> chosen((*target)->createMCSubtargetInfo(triple, options.cpu, ""));
  if (!chosen->checkFeatures("+64bit"))
    return failure("'--cpu=" + options.cpu + "': not a 64-bit CPU");
  return llvm::Error::success();
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> targetMachine(const CpuOptions &options) {
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  auto target = findTarget(triple);
  if (!target)
    return target.takeError();
  std::string cpu = options.cpu, features;
  if (cpu == "native") {
    cpu = llvm::sys::getHostCPUName().str();
    llvm::SubtargetFeatures list;
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      list.AddFeature(feature.first(), feature.second);
    features = list.getString();
  }
  llvm::TargetOptions targetOptions;
  // Products and sums are fused only where the program says so.
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      (*target)->createTargetMachine(triple, cpu, features, targetOptions, llvm::Reloc::PIC_, std::nullopt,
                                     options.optimize ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
  if (!machine)
    return failure("no code generator for cpu " + cpu);
  return machine;
}

llvm::Expected<KernelShape> farskip::kernelShape(const CpuOptions &options) {
  auto machine = targetMachine(options);
  if (!machine)
    return machine.takeError();
  // 24 sums of 16 lanes and four factors are in the 32 registers of AVX-512; 12 sums of 8 lanes in AVX2's 16.
  if ((*machine)->getMCSubtargetInfo()->checkFeatures("+avx512f"))
    return KernelShape{16, 64};
  return KernelShape{8, 16};
}

static llvm::Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, llvm::LLVMContext &context,
                                                               llvm::TargetMachine &machine, bool optimize) {
  mlir::registerBuiltinDialectTranslation(*module->getContext());
  mlir::registerLLVMDialectTranslation(*module->getContext());
  std::unique_ptr<llvm::Module> code = mlir::translateModuleToLLVMIR(module, context);
  if (!code)
    return failure("translation to LLVM IR failed");
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *code)
    if (!function.isDeclaration())
      function.addFnAttr("prefer-vector-width", "512");
  if (!optimize)
    return code;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = false;
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::OptNoneInstrumentation optNone(/*DebugLogging=*/false);
  optNone.registerCallbacks(callbacks);
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  // The entry function is one long block around calls, as long as the model has operations: it gets what is linear,
  // and neither the optimiser's nor the code generator's effort.
  if (llvm::Function *entry = code->getFunction(kEntryName)) {
    llvm::FunctionPassManager simplify;
    if (llvm::Error error = builder.parsePassPipeline(simplify, "early-cse,instsimplify,adce"))
      return error;
    simplify.run(*entry, functions);
    functions.invalidate(*entry, llvm::PreservedAnalyses::none());
    entry->addFnAttr(llvm::Attribute::NoInline);
    entry->addFnAttr(llvm::Attribute::OptimizeNone);
  }
  // A lean pipeline: kernels are small functions that nothing is inlined into.
  static constexpr char kPipeline[] = "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,loop-mssa("
                                      "loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,"
                                      "loop(indvars,loop-idiom,loop-deletion),gvn<no-load-pre>,dse,loop-vectorize,"
                                      "simplifycfg,instcombine<no-verify-fixpoint>,"
                                      "loop-unroll<O2>,early-cse,adce)";
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, kPipeline))
    return error;
  passes.run(*code, modules);
  return code;
}

/// Translates and optimises, and hands the code to `emit`.
static llvm::Error generate(mlir::ModuleOp module, const CpuOptions &options,
                            llvm::function_ref<llvm::Error(llvm::Module &, llvm::TargetMachine &)> emit) {
  auto machine = targetMachine(options);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto code = translate(module, context, **machine, options.optimize);
  if (!code)
    return code.takeError();
  return emit(**code, **machine);
}

llvm::Error farskip::emitLLVM(mlir::ModuleOp module, const CpuOptions &options, llvm::raw_pwrite_stream &os) {
  return generate(module, options, [&](llvm::Module &code, llvm::TargetMachine &) {
    code.print(os, nullptr);
    return llvm::Error::success();
  });
}

llvm::Error farskip::emitObject(mlir::ModuleOp module, const CpuOptions &options, llvm::raw_pwrite_stream &os) {
  return generate(module, options, [&](llvm::Module &code, llvm::TargetMachine &machine) -> llvm::Error {
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile))
      return failure("the code generator emits no object files");
    passes.run(code);
    return llvm::Error::success();
  });
}

/// The run-time library: beside the compiler, in `lib/` beside its `bin/`.
static std::string runtimeLibrary() {
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::SmallString<256> path(llvm::sys::path::parent_path(llvm::sys::path::parent_path(self)));
  llvm::sys::path::append(path, "lib", "libfarskip_rt.a");
  return path.str().str();
}

llvm::Error farskip::linkExecutable(llvm::StringRef object, llvm::StringRef output) {
  llvm::ErrorOr<std::string> driver = llvm::sys::findProgramByName("clang++-22");
  if (!driver)
    driver = llvm::sys::findProgramByName("c++");
  if (!driver)
    return failure("no linker driver: neither clang++-22 nor c++ is on the path");
  std::string runtime = runtimeLibrary();
  if (!llvm::sys::fs::exists(runtime))
    return failure("the run-time library is not at " + runtime);
  llvm::SmallVector<llvm::StringRef> arguments{*driver, object, runtime,     "-o",
                                               output,  "-lm",  "-lpthread", "-Wl,--gc-sections"};
  if (llvm::StringRef(*driver).ends_with("clang++-22"))
    arguments.push_back("-fuse-ld=lld");
  std::string message;
  int status = llvm::sys::ExecuteAndWait(*driver, arguments, std::nullopt, {}, 0, 0, &message);
  if (status)
    return failure("linking failed" + (message.empty() ? llvm::Twine(" with status ") + llvm::Twine(status)
                                                       : llvm::Twine(": ") + message));
  return llvm::Error::success();
}
