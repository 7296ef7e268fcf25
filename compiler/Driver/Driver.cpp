// One compilation, from the command line to the files.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/Driver.h"
#include "compiler/Builder/OnnxBuilder.h"
#include "compiler/Driver/Description.h"
#include "compiler/Driver/OutputFile.h"
#include "compiler/Driver/PackedWeights.h"
#include "compiler/Export/Export.h"
#include "compiler/Import/Reader.h"
#include "compiler/Plan/Plan.h"
#include "farskip/weights.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Lower/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SHA256.h"

using namespace farskip;
using namespace mlir;
namespace reader = farskip::onnx::reader;

namespace {

/// Prints `error: ` once; what follows would only be its echoes.
class Messages {
public:
  int error(const llvm::Twine &text, int code) {
    if (!failed)
      llvm::errs() << "error: " << oneLine(text.str()) << "\n";
    failed = true;
    return code;
  }
  void warning(const llvm::Twine &text) { llvm::errs() << "warning: " << oneLine(text.str()) << "\n"; }
  bool hasFailed() const { return failed; }

private:
  static std::string oneLine(std::string text) {
    for (char &c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        c = ' ';
    if (text.size() > 8000)
      text.resize(8000);
    return text;
  }
  bool failed = false;
};

class Compilation {
public:
  Compilation(const DriverOptions &options) : options(options) {
    DialectRegistry registry;
    registerFarskipDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      std::string text;
      llvm::raw_string_ostream os(text);
      if (auto name = dyn_cast<NameLoc>(diagnostic.getLocation()))
        if (!name.getName().empty())
          os << "node " << reader::quoted(name.getName()) << ": ";
      os << diagnostic;
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        messages.error(text, kModelError);
      else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
        messages.warning(text);
    });
  }

  int run() {
    if (llvm::Error error = checkCpu(options.cpu))
      return fail(std::move(error), kUsage);
    reader::ImportOptions importOptions;
    importOptions.allowedExternalDirs = options.allowExternalDirs;
    importOptions.strictExternalData = options.strictExternalData;
    auto model = reader::readModel(options.input, importOptions, [&](const reader::Diagnostic &diagnostic) {
      if (diagnostic.severity == reader::Severity::Warning)
        messages.warning(diagnostic.message);
    });
    if (!model)
      return messages.error(llvm::toString(model.takeError()), kModelError);
    auto module = buildModule(*model, context);
    if (!module)
      return messages.error(llvm::toString(module.takeError()), kModelError);
    return compile(*model, **module);
  }

private:
  int compile(const reader::Model &model, ModuleOp module) {
    llvm::json::Object program;
    bool connected = options.emit == Emit::Onnx || options.emit == Emit::Plan;
    Phase last = options.compileTo.value_or(connected ? Phase::Connected : Phase::LLVM);
    llvm::Expected<KernelShape> kernels = kernelShape(options.cpu);
    if (!kernels)
      return fail(kernels.takeError(), kInternal);
    PhaseOptions phaseOptions{options.farskip,   options.farskipPart, options.ranks,
                              options.attention, options.overlap,     *kernels};
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      auto phase = static_cast<Phase>(i);
      if (phase == Phase::Raised)
        program = describeProgram(module, options);
      PassManager passes(&context, ModuleOp::getOperationName());
      buildPhase(passes, phase, phaseOptions);
      if (failed(passes.run(module))) {
        if (messages.hasFailed())
          return kModelError;
        return messages.error("phase " + phaseName(phase) + " failed", kInternal);
      }
      if (phase == Phase::Sharded)
        describeDistribution(module, program);
    }
    std::string description = llvm::formatv("{0}", llvm::json::Value(std::move(program)));
    switch (options.emit) {
    case Emit::Mlir:
      return writeText([&](llvm::raw_pwrite_stream &os) -> llvm::Error {
        module.print(os);
        os << "\n";
        return llvm::Error::success();
      });
    case Emit::LLVM:
      return writeText([&](llvm::raw_pwrite_stream &os) { return emitLLVM(module, options.cpu, os); });
    case Emit::Onnx:
      return writeOnnx(model, module);
    case Emit::Plan:
      return writePlan(module, phaseOptions);
    case Emit::Object:
      embedDescription(module, description, buildId(model, module, description), weightsBytes(module));
      return writeText([&](llvm::raw_pwrite_stream &os) { return emitObject(module, options.cpu, os); });
    default:
      return writeProgram(model, module, description);
    }
  }

  int fail(llvm::Error error, int code) { return messages.error(llvm::toString(std::move(error)), code); }

  int writeText(llvm::function_ref<llvm::Error(llvm::raw_pwrite_stream &)> print) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream os(bytes);
    if (llvm::Error error = print(os))
      return fail(std::move(error), kInternal);
    if (options.output.empty() || options.output == "-") {
      llvm::outs() << llvm::StringRef(bytes.data(), bytes.size());
      return kOk;
    }
    auto file = OutputFile::create(options.output);
    if (!file)
      return fail(file.takeError(), kIo);
    if (llvm::Error error = file->write({bytes.data(), bytes.size()}))
      return fail(std::move(error), kIo);
    if (llvm::Error error = file->commit())
      return fail(std::move(error), kIo);
    return kOk;
  }

  int writePlan(ModuleOp module, const PhaseOptions &phaseOptions) {
    PassManager passes(&context, ModuleOp::getOperationName());
    buildRecognition(passes, phaseOptions);
    if (failed(passes.run(module)))
      return messages.hasFailed() ? kModelError : messages.error("the recognition of blocks failed", kInternal);
    Plan plan = makePlan(module, options.ranks, options.attention, options.experts);
    return writeText([&](llvm::raw_pwrite_stream &os) -> llvm::Error {
      if (options.planFormat == "json")
        os << llvm::formatv("{0:2}\n", planJson(plan));
      else
        os << planText(plan);
      return llvm::Error::success();
    });
  }

  int writeOnnx(const reader::Model &model, ModuleOp module) {
    auto proto = exportModel(module, model.files);
    if (!proto)
      return fail(proto.takeError(), kModelError);
    if (options.output == "-") {
      llvm::cantFail(proto->write([](llvm::StringRef bytes) {
        llvm::outs() << bytes;
        return llvm::Error::success();
      }));
      return kOk;
    }
    auto file = OutputFile::create(options.output);
    if (!file)
      return fail(file.takeError(), kIo);
    if (llvm::Error error = proto->write([&](llvm::StringRef bytes) { return file->write(bytes); }))
      return fail(std::move(error), kIo);
    if (llvm::Error error = file->commit())
      return fail(std::move(error), kIo);
    return kOk;
  }

  static uint64_t weightsBytes(ModuleOp module) {
    std::vector<WeightEntry> table = WeightEntry::table(module);
    return table.empty() ? 0 : table.back().place + table.back().bytes;
  }

  /// A name for this executable and its weights: the options, the model's
  /// structure and where its weights stand.
  std::string buildId(const reader::Model &model, ModuleOp module, llvm::StringRef description) {
    llvm::SHA256 hash;
    hash.update(description);
    auto table = module->getAttrOfType<DenseI64ArrayAttr>(kWeightsAttr);
    llvm::ArrayRef<int64_t> numbers = table ? table.asArrayRef() : llvm::ArrayRef<int64_t>();
    hash.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(numbers.data()), numbers.size() * 8));
    for (size_t i = 0; i < model.files.size(); ++i) {
      llvm::sys::fs::file_status status;
      if (!llvm::sys::fs::status(model.files[i].path, status)) {
        std::string stamp = model.files[i].path + std::to_string(status.getSize()) +
                            std::to_string(status.getLastModificationTime().time_since_epoch().count());
        hash.update(stamp);
      }
    }
    return llvm::toHex(llvm::ArrayRef<uint8_t>(hash.final()).take_front(16),
                       /*LowerCase=*/true);
  }

  llvm::Error writeWeights(const reader::Model &model, ModuleOp module, llvm::StringRef id, OutputFile &file) {
    farskip_weights_header header = {};
    std::memcpy(header.magic, "FSKWGHT1", 8);
    header.version = 1;
    header.total_bytes = weightsBytes(module);
    std::memcpy(header.build_id, id.data(), std::min<size_t>(id.size(), sizeof header.build_id));
    static_assert(sizeof header == kWeightsHeader);
    if (llvm::Error error = file.write({reinterpret_cast<const char *>(&header), sizeof header}))
      return error;
    for (const WeightEntry &entry : WeightEntry::table(module)) {
      if (llvm::Error error = file.padTo(entry.place))
        return error;
      reader::DataRef data;
      data.file = entry.file;
      data.offset = entry.offset;
      data.length = entry.length;
      if (llvm::Error error = writeWeight(entry, model.files.bytes(data), [&](llvm::ArrayRef<char> bytes) {
            return file.write({bytes.data(), bytes.size()});
          }))
        return error;
    }
    return file.finish();
  }

  int writeProgram(const reader::Model &model, ModuleOp module, llvm::StringRef description) {
    std::string id = buildId(model, module, description);
    uint64_t bytes = weightsBytes(module);
    embedDescription(module, description, id, bytes);
    auto object = OutputFile::create(options.output + ".o");
    if (!object)
      return fail(object.takeError(), kIo);
    llvm::SmallVector<char, 0> code;
    llvm::raw_svector_ostream os(code);
    if (llvm::Error error = emitObject(module, options.cpu, os))
      return fail(std::move(error), kInternal);
    if (llvm::Error error = object->write({code.data(), code.size()}))
      return fail(std::move(error), kIo);
    if (llvm::Error error = object->finish())
      return fail(std::move(error), kIo);
    auto executable = OutputFile::create(options.output, 0755);
    if (!executable)
      return fail(executable.takeError(), kIo);
    if (llvm::Error error = executable->finish())
      return fail(std::move(error), kIo);
    if (llvm::Error error = linkExecutable(object->temporary(), executable->temporary()))
      return fail(std::move(error), kInternal);
    if (bytes) {
      auto weights = OutputFile::create(options.output + ".weights");
      if (!weights)
        return fail(weights.takeError(), kIo);
      if (llvm::Error error = writeWeights(model, module, id, *weights))
        return fail(std::move(error), kIo);
      if (llvm::Error error = weights->commit())
        return fail(std::move(error), kIo);
    }
    if (llvm::Error error = executable->commit())
      return fail(std::move(error), kIo);
    return kOk;
  }

  const DriverOptions &options;
  MLIRContext context{MLIRContext::Threading::DISABLED};
  Messages messages;
};

} // namespace

int farskip::runDriver(const DriverOptions &options) { return Compilation(options).run(); }
