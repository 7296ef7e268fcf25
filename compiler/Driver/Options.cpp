// The command line of the compiler driver.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/Options.h"
#include "passes/Residual/Selection.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace farskip;

static llvm::Error usage(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::StringRef farskip::driverHelp() {
  return R"(usage: farskip-opt MODEL.onnx [OPTION...] -o OUTPUT
       farskip-opt FILE.mlir [mlir-opt OPTION...]      (see farskip-opt --help-mlir)

Compiles an ONNX model to a program: OUTPUT and OUTPUT.weights.

  -o FILE                     where to write
  --emit=exe|mlir|llvm|obj|onnx|plan
                              what to write (default exe); onnx: the model again, in FarSkip form where --farskip asks;
                              plan: what was recognised in each layer and how it is spread, without -o to the terminal
  --plan-format=text|json     how the plan is written (default text)
  --compile-to=PHASE          stop after a phase: import, model, connected, raised, sharded, overlapped, buffers, llvm;
                              with --emit=mlir
  --ranks=N                   number of ranks (default 1)
  --attention=data|tensor     each rank owns whole sequences, or every rank holds all of them and the experts alone are
                              spread (default data)
  --experts=expert            each rank owns whole experts
  --farskip=SELECTION         layers to put into FarSkip form: none, all, first:N, last:N, first:P%, last:P%, 0,2,5-9
  --farskip-part=both|attention|moe
                              which reads of the selected layers move (default both)
  --overlap=on|off            exchanges run under computation, or each blocks (default on)
  --weights=pack              the weights file is laid out for the kernels
  --cpu=native|NAME           the CPU to generate code for (default native)
  --allow-external-dir=DIR    a further folder in which external data may lie; may be repeated
  --strict-external-data      refuse external data with several hard links
  --help, --version

Exit status: 0; 1 the model is wrong or not supported; 64 usage; 70 internal error; 74 input or output.
)";
}

/// A positive decimal number without sign or leading zeros.
static std::optional<int64_t> decimal(llvm::StringRef text) {
  int64_t number;
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != llvm::StringRef::npos ||
      (text.size() > 1 && text[0] == '0') || text.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

llvm::Expected<DriverOptions> farskip::parseDriverOptions(llvm::ArrayRef<llvm::StringRef> arguments) {
  static constexpr llvm::StringLiteral kNames[] = {"-o",
                                                   "--emit",
                                                   "--compile-to",
                                                   "--ranks",
                                                   "--attention",
                                                   "--experts",
                                                   "--farskip",
                                                   "--farskip-part",
                                                   "--cpu",
                                                   "--allow-external-dir",
                                                   "--plan-format",
                                                   "--overlap",
                                                   "--weights"};
  DriverOptions options;
  llvm::StringSet<> seen;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      continue;
    }
    if (argument == "--version") {
      options.version = true;
      continue;
    }
    if (argument == "--strict-external-data") {
      options.strictExternalData = true;
      continue;
    }
    if (!argument.starts_with("-")) {
      if (!options.input.empty())
        return usage("two models: '" + options.input + "' and '" + argument + "'");
      options.input = argument.str();
      continue;
    }
    auto [name, value] = argument.split('=');
    bool hasValue = name.size() != argument.size();
    if (!llvm::is_contained(kNames, name))
      return usage("unknown option '" + name + "'; see --help");
    if (!hasValue) {
      if (++i == arguments.size())
        return usage("option '" + name + "' needs a value");
      value = arguments[i];
    }
    if (name != "--allow-external-dir" && !seen.insert(name).second)
      return usage("option '" + name + "' is given twice");
    auto choice = [&](llvm::ArrayRef<llvm::StringRef> valid) -> llvm::Error {
      if (llvm::is_contained(valid, value))
        return llvm::Error::success();
      return usage("'" + name + "=" + value + "': valid values are " + llvm::join(valid, ", "));
    };
    if (name == "-o") {
      options.output = value.str();
    } else if (name == "--emit") {
      if (llvm::Error error = choice({"exe", "mlir", "llvm", "obj", "onnx", "plan"}))
        return error;
      options.emit = llvm::StringSwitch<Emit>(value)
                         .Case("exe", Emit::Executable)
                         .Case("mlir", Emit::Mlir)
                         .Case("llvm", Emit::LLVM)
                         .Case("onnx", Emit::Onnx)
                         .Case("plan", Emit::Plan)
                         .Default(Emit::Object);
    } else if (name == "--compile-to") {
      options.compileTo = parsePhase(value);
      if (!options.compileTo)
        return usage("'--compile-to=" + value + "': the phases are " + phaseNames());
    } else if (name == "--ranks") {
      std::optional<int64_t> ranks = decimal(value);
      if (!ranks || *ranks < 1 || *ranks > 1024)
        return usage("'--ranks=" + value + "': wanted a number from 1 to 1024");
      options.ranks = *ranks;
    } else if (name == "--attention") {
      if (llvm::Error error = choice({"data", "tensor"}))
        return error;
      options.attention = value.str();
    } else if (name == "--experts") {
      if (llvm::Error error = choice({"expert"}))
        return error;
      options.experts = value.str();
    } else if (name == "--farskip") {
      if (llvm::Error error = checkSelection(value))
        return usage("'--farskip=" + value + "': " + llvm::toString(std::move(error)));
      options.farskip = value.str();
    } else if (name == "--farskip-part") {
      if (llvm::Error error = choice({"both", "attention", "moe"}))
        return error;
      options.farskipPart = value.str();
    } else if (name == "--overlap") {
      if (llvm::Error error = choice({"on", "off"}))
        return error;
      options.overlap = value == "on";
    } else if (name == "--plan-format") {
      if (llvm::Error error = choice({"text", "json"}))
        return error;
      options.planFormat = value.str();
    } else if (name == "--weights") {
      if (llvm::Error error = choice({"pack"}))
        return error;
    } else if (name == "--cpu") {
      options.cpu.cpu = value.str();
    } else {
      options.allowExternalDirs.push_back(value.str());
    }
  }
  if (options.help || options.version)
    return options;
  if (options.input.empty())
    return usage("no model given; see --help");
  if (options.farskip == "none" && options.farskipPart != "both")
    return usage("--farskip-part=" + options.farskipPart + " needs a selection of layers by --farskip");
  if (options.emit != Emit::Mlir && options.compileTo)
    return usage("--compile-to needs --emit=mlir");
  if (options.emit == Emit::Onnx && options.ranks > 1)
    return usage("--emit=onnx writes the model of one device; --ranks=" + llvm::Twine(options.ranks) +
                 " has no meaning for it");
  if (!options.planFormat.empty() && options.emit != Emit::Plan)
    return usage("--plan-format needs --emit=plan");
  if (options.output.empty() && options.emit != Emit::Mlir && options.emit != Emit::Plan)
    return usage("no output given; use -o FILE");
  return options;
}
