// `main` of a compiled program.
// SPDX-License-Identifier: Apache-2.0
#include "farskip/rt.h"
#include "runtime/Main/Generate.h"
#include "runtime/Main/Interrupt.h"
#include "runtime/Main/Profile.h"
#include "runtime/Npy/Npy.h"
#include "runtime/Transport/Futex.h"
#include <cstdio>
#include <cstring>
#include <set>
#include <unistd.h>

using namespace farskip::runtime;

namespace {

/// The weights stand beside the executable, wherever it was started from.
std::string weightsPath() {
  char path[4096];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return std::string(path, length > 0 ? length : 0) + ".weights";
}

bool isFileName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos && name.size() < 200;
}

Status pathIn(const std::string &directory, const std::string &name, std::string &path) {
  if (!isFileName(name))
    return failure(kUsage, "'" + escaped(name) + "' is no file name; pass it by --input or --output NAME=FILE");
  path = directory + "/" + name + ".npy";
  return {};
}

Status readInputs(const Description &description, const ProgramOptions &options, std::vector<Buffer> &inputs) {
  inputs.resize(description.inputs.size());
  ShapeChecker checker;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port &port = description.inputs[i];
    std::string path;
    if (auto given = options.inputs.find(port.name); given != options.inputs.end()) {
      path = given->second;
    } else if (!options.inputDir.empty()) {
      if (Status status = pathIn(options.inputDir, port.name, path); !status.ok())
        return status;
      if (!port.used && ::access(path.c_str(), R_OK))
        path.clear();
    } else if (port.used) {
      return failure(kUsage, "input '" + escaped(port.name) + "' is missing; pass --input '" + escaped(port.name) +
                                 "'=FILE.npy");
    }
    if (path.empty()) {
      inputs[i].allocate(std::vector<int64_t>(port.dims.size(), 0), port.type.bytes);
      continue;
    }
    NpyHeader header;
    if (Status status = readNpyHeader(path, header); !status.ok())
      return status;
    if (Status status = checker.check(port, header.descr, header.shape); !status.ok())
      return status;
    if (!inputs[i].allocate(header.shape, port.type.bytes))
      return failure(kIo, "no memory for input '" + escaped(port.name) + "'");
    if (Status status = readNpyData(path, header, inputs[i].data()); !status.ok())
      return status;
  }
  return {};
}

Status addOutputs(const Description &description, const ProgramOptions &options, const std::vector<Buffer> &outputs,
                  OutputFiles &files) {
  std::set<std::string> done;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port &port = description.outputs[i];
    std::string path;
    if (auto given = options.outputs.find(port.name); given != options.outputs.end()) {
      path = given->second;
    } else if (!options.outputDir.empty()) {
      if (Status status = pathIn(options.outputDir, port.name, path); !status.ok())
        return status;
    }
    if (path.empty() || !done.insert(port.name).second)
      continue;
    Status status = files.add(path, npyHeader(port.type.descr, outputs[i].shape), outputs[i].data(), outputs[i].bytes);
    if (!status.ok())
      return status;
  }
  return {};
}

Status addTrace(const Description &description, const ProgramOptions &options, const std::vector<RankResults> &results,
                OutputFiles &files) {
  if (options.trace.empty())
    return {};
  std::string text = traceJson(description, results);
  return files.add(options.trace, "", text.data(), text.size());
}

/// Several processes of one run find each other by TCP; otherwise this one starts the ranks.
Status chooseTransport(const Description &description, const ProgramOptions &options, RunOptions &runOptions) {
  runOptions.transport = options.transport == "tcp" ? Transports::Tcp : Transports::Shm;
  if (description.ranks == 1)
    return {};
  if (Status status = readWorld(runOptions.world); !status.ok())
    return status;
  if (runOptions.world.present && options.transport == "shm")
    return failure(kUsage, "--transport=shm starts all ranks on this machine, but this process is rank " +
                               std::to_string(runOptions.world.rank) + " of " + std::to_string(runOptions.world.ranks));
  return {};
}

Status run(int argc, char **argv) {
  Description description;
  if (Status status = parseDescription(farskip_model_json, description); !status.ok())
    return status;
  ProgramOptions options;
  if (Status status = parseProgramOptions(argc, argv, description, options); !status.ok())
    return status;
  if (options.help || options.version || options.describe) {
    std::string text = options.help      ? programHelp()
                       : options.version ? "farskip 0.1.0, build id " + description.buildId + "\n"
                       : options.describe == ProgramOptions::Json ? std::string(farskip_model_json) + "\n"
                                                                  : describeText(description);
    std::fputs(text.c_str(), stdout);
    return {};
  }
  endCleanlyOnSignals();
  ProgramTimes times;
  auto since = [from = nowNs()]() mutable {
    int64_t before = from;
    from = nowNs();
    return static_cast<double>(from - before) * 1e-9;
  };
  Weights weights;
  RunOptions runOptions;
  runOptions.threads = options.threads;
  runOptions.repeat = options.repeat;
  runOptions.trace = !options.trace.empty();
  if (Status status = readTimeout(runOptions); !status.ok())
    return status;
  if (Status status = chooseTransport(description, options, runOptions); !status.ok())
    return status;
  std::vector<RankResults> results;
  std::vector<Buffer> inputs, outputs;
  // An error here may be this rank's alone: the others hear of it before anything is computed.
  Status prepared = weights.map(weightsPath(), description);
  if (prepared.ok() && !options.generate)
    prepared = readInputs(description, options, inputs);
  times.load = since();
  Status status = options.generate ? generate(description, weights, prepared, options, runOptions, results)
                                   : runProgram(description, weights, prepared, inputs, runOptions, outputs, results);
  times.ranks = since();
  if (!status.ok() || results.empty())
    return status;
  OutputFiles files;
  status = addOutputs(description, options, outputs, files);
  if (status.ok())
    status = addTrace(description, options, results, files);
  if (status.ok())
    status = files.commit();
  times.outputs = since();
  if (status.ok() && options.profile)
    std::fputs(
        (options.profile == ProgramOptions::Json ? profileJson : profileTable)(description, results, times).c_str(),
        stdout);
  return status;
}

} // namespace

int main(int argc, char **argv) {
  Status status = run(argc, argv);
  if (!status.ok())
    printError(status.message);
  return status.code;
}
