// Greedy generation.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Main/Generate.h"
#include "runtime/Npy/Npy.h"
#include <cstdio>
#include <cstring>

namespace farskip::runtime {

static Status readPrompt(const ProgramOptions &options, std::vector<int64_t> &tokens) {
  if (options.promptText) {
    for (unsigned char byte : *options.promptText)
      tokens.push_back(byte);
  } else {
    NpyHeader header;
    if (Status status = readNpyHeader(*options.prompt, header); !status.ok())
      return status;
    bool row = header.shape.size() == 1 || (header.shape.size() == 2 && header.shape[0] == 1);
    if (header.descr != "<i8" || !row)
      return failure(kInputError, "prompt '" + escaped(*options.prompt) + "': wanted <i8 of shape [1, length]");
    tokens.resize(header.elements());
    if (Status status = readNpyData(*options.prompt, header, tokens.data()); !status.ok())
      return status;
  }
  return tokens.empty() ? failure(kInputError, "the prompt is empty") : Status{};
}

/// The index of the greatest of the last position's logits; the first of
/// equals.
static int64_t bestToken(const Buffer &logits) {
  int64_t vocabulary = logits.shape.back();
  const auto *values = reinterpret_cast<const float *>(logits.data()) + logits.bytes / 4 - vocabulary;
  int64_t best = 0;
  for (int64_t i = 1; i < vocabulary; ++i)
    if (values[i] > values[best])
      best = i;
  return best;
}

static int64_t findRole(const std::vector<Port> &ports, const std::string &role) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].role == role)
      return i;
  return -1;
}

Status generate(const Description &description, const Weights &weights, const ProgramOptions &options,
                RunTimes &times) {
  int64_t tokensAt = findRole(description.inputs, "tokens"), logitsAt = findRole(description.outputs, "logits");
  if (tokensAt < 0 || logitsAt < 0 || description.inputs[tokensAt].type.name != "i64" ||
      description.outputs[logitsAt].type.name != "f32")
    return failure(kUsage, "the program has no i64 token input or no f32 "
                           "logits output; it cannot generate");
  for (size_t i = 0; i < description.inputs.size(); ++i)
    if (static_cast<int64_t>(i) != tokensAt && description.inputs[i].used)
      return failure(kUsage, "--generate cannot fill input '" + escaped(description.inputs[i].name) + "'");
  std::vector<int64_t> tokens;
  if (Status status = readPrompt(options, tokens); !status.ok())
    return status;
  if (options.promptText)
    std::fputs(options.promptText->c_str(), stdout);
  std::vector<Buffer> inputs(description.inputs.size()), outputs;
  RunOptions run;
  run.threads = options.threads;
  for (int64_t step = 0; step < options.generate; ++step) {
    if (!inputs[tokensAt].allocate({1, static_cast<int64_t>(tokens.size())}, 8))
      return failure(kIo, "no memory for the tokens");
    std::memcpy(inputs[tokensAt].data(), tokens.data(), tokens.size() * 8);
    RunTimes own;
    if (Status status = runProgram(description, weights, inputs, run, outputs, own); !status.ok())
      return status;
    times.seconds.insert(times.seconds.end(), own.seconds.begin(), own.seconds.end());
    const Buffer &logits = outputs[logitsAt];
    if (logits.shape.size() < 2 || logits.bytes < 4)
      return failure(kInputError, "the logits have no positions");
    tokens.push_back(bestToken(logits));
    if (options.promptText)
      std::fputc(static_cast<int>(tokens.back()), stdout);
    else
      std::printf("%s%lld", step ? " " : "", static_cast<long long>(tokens.back()));
    std::fflush(stdout);
  }
  std::fputc('\n', stdout);
  return {};
}

} // namespace farskip::runtime
