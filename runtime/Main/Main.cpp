// `main` of a compiled program.
// SPDX-License-Identifier: Apache-2.0
#include "farskip/rt.h"
#include "runtime/Main/Generate.h"
#include "runtime/Npy/Npy.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <set>
#include <unistd.h>

using namespace farskip::runtime;

namespace {

void interrupted(int) {
  OutputFiles::removeTemporaries();
  ::_exit(kInterrupted);
}

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

Status writeOutputs(const Description &description, const ProgramOptions &options, const std::vector<Buffer> &outputs) {
  OutputFiles files;
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
  return files.commit();
}

void printProfile(const ProgramOptions &options, const Description &description, std::vector<double> times) {
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  double total = 0;
  for (double seconds : sorted)
    total += seconds;
  double median = sorted[sorted.size() / 2];
  if (options.profile == ProgramOptions::Json) {
    std::printf("{\"runs\":%zu,\"ranks\":%lld,\"total_s\":%.9f,\"first_s\":%."
                "9f,\"median_s\":%.9f,\"min_s\":%.9f,"
                "\"max_s\":%.9f}\n",
                sorted.size(), static_cast<long long>(description.ranks), total, times.front(), median, sorted.front(),
                sorted.back());
    return;
  }
  std::printf("profile of rank 0 of %lld\n", static_cast<long long>(description.ranks));
  std::printf("  %-10s %12s\n", "runs", std::to_string(sorted.size()).c_str());
  const std::pair<const char *, double> rows[] = {{"total", total},
                                                  {"first", times.front()},
                                                  {"median", median},
                                                  {"fastest", sorted.front()},
                                                  {"slowest", sorted.back()}};
  for (auto [name, seconds] : rows)
    std::printf("  %-10s %9.3f ms\n", name, seconds * 1e3);
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
  std::signal(SIGINT, interrupted);
  std::signal(SIGTERM, interrupted);
  Weights weights;
  if (Status status = weights.map(weightsPath(), description); !status.ok())
    return status;
  RunOptions runOptions;
  runOptions.threads = options.threads;
  runOptions.repeat = options.repeat;
  if (Status status = readTimeout(runOptions); !status.ok())
    return status;
  std::vector<RankResults> results;
  if (options.generate) {
    if (Status status = generate(description, weights, options, runOptions, results); !status.ok())
      return status;
  } else {
    std::vector<Buffer> inputs, outputs;
    if (Status status = readInputs(description, options, inputs); !status.ok())
      return status;
    if (Status status = runProgram(description, weights, inputs, runOptions, outputs, results); !status.ok())
      return status;
    if (Status status = writeOutputs(description, options, outputs); !status.ok())
      return status;
  }
  if (options.profile)
    printProfile(options, description, results[0].seconds);
  return {};
}

} // namespace

int main(int argc, char **argv) {
  Status status = run(argc, argv);
  if (!status.ok())
    printError(status.message);
  return status.code;
}
