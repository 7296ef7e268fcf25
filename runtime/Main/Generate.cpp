// Greedy generation.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Main/Generate.h"
#include "runtime/Model/SmallFloats.h"
#include "runtime/Npy/Npy.h"
#include "runtime/Ranks/ProgressLine.h"
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace farskip::runtime {

namespace {

Status readPrompt(const ProgramOptions &options, std::vector<int64_t> &tokens) {
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

/// What stands behind the greatest of a rank's logits at the last position.
struct Best {
  float value;
  int64_t index, vocabulary; ///< of this rank's part; 0: it has no logits
};

bool isFloat(const DType &type) { return type.name == "f32" || type.name == "f16" || type.name == "bf16"; }

float valueAt(const DType &type, const char *values, int64_t index) {
  if (type.name == "f32")
    return reinterpret_cast<const float *>(values)[index];
  uint16_t bits = reinterpret_cast<const uint16_t *>(values)[index];
  return type.name == "f16" ? Float16::load(bits) : BFloat16::load(bits);
}

class Generator {
public:
  Generator(const Description &description, const ProgramOptions &options)
      : description(description), options(options) {}

  Status prepare();
  void run(Context &context);
  size_t promptLength() const { return tokens.size(); }

private:
  enum Role { Tokens, Mask, Positions, Past, Unused };

  Status fill(size_t input, int64_t past);
  Status fillPast(size_t input);
  void keepCache(Context &context);
  int64_t nextToken(Context &context);
  void print(bool first) const;

  const Description &description;
  const ProgramOptions &options;
  std::vector<Role> roles;
  size_t tokensAt = 0, logitsAt = 0;
  bool cached = false;
  std::vector<int64_t> tokens;
  std::vector<Buffer> whole;
};

Status Generator::prepare() {
  const std::pair<const char *, Role> named[] = {
      {"tokens", Tokens}, {"attention_mask", Mask}, {"position_ids", Positions}};
  bool hasTokens = false, hasLogits = false;
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    const Port &port = description.inputs[i];
    Role role = Unused;
    for (auto [name, value] : named)
      if (port.role == name)
        role = value;
    for (const Cache &pair : description.cache)
      if (pair.input == i)
        role = Past;
    if (role == Unused && port.used)
      return failure(kUsage, "--generate cannot fill input '" + escaped(port.name) + "'");
    if (role != Unused && role != Past && port.type.name != "i64")
      return failure(kUsage, "--generate wants i64 for input '" + escaped(port.name) + "'");
    cached |= role == Past;
    if (role == Tokens) {
      tokensAt = i;
      hasTokens = true;
    }
    roles.push_back(role);
  }
  for (size_t i = 0; i < description.outputs.size(); ++i)
    if (const Port &port = description.outputs[i]; port.role == "logits" && isFloat(port.type)) {
      logitsAt = i;
      hasLogits = true;
    }
  if (!hasTokens || !hasLogits)
    return failure(kUsage,
                   "the program has no i64 token input or no f32, f16 or bf16 logits output; it cannot generate");
  whole.resize(roles.size());
  return readPrompt(options, tokens);
}

/// The whole input for the positions behind the first `past`.
Status Generator::fill(size_t input, int64_t past) {
  Buffer &buffer = whole[input];
  const Port &port = description.inputs[input];
  int64_t total = tokens.size(), length = roles[input] == Mask ? total : total - past;
  bool filled = roles[input] != Unused;
  std::vector<int64_t> shape(port.dims.size(), 0);
  if (filled) {
    if (shape.size() != 2)
      return failure(kUsage, "--generate wants input '" + escaped(port.name) + "' as [batch, length]");
    shape = {1, length};
  }
  if (!buffer.allocate(shape, port.type.bytes))
    return failure(kIo, "no memory for input '" + escaped(port.name) + "'");
  auto *values = reinterpret_cast<int64_t *>(buffer.data());
  for (int64_t i = 0; filled && i < length; ++i)
    values[i] = roles[input] == Tokens ? tokens[past + i] : roles[input] == Mask ? 1 : past + i;
  return {};
}

/// An empty cache: no positions yet, one sequence.
Status Generator::fillPast(size_t input) {
  const Port &port = description.inputs[input], &ids = description.inputs[tokensAt];
  std::vector<int64_t> shape;
  int unknown = 0;
  for (const Extent &dim : port.dims) {
    bool isBatch = dim.kind == Extent::Symbol && ids.dims[0].kind == Extent::Symbol && dim.text == ids.dims[0].text;
    bool isNumber = dim.kind == Extent::Number;
    unknown += !isBatch && !isNumber;
    shape.push_back(isNumber ? dim.number : isBatch ? 1 : 0);
  }
  if (unknown != 1)
    return failure(kUsage, "--generate cannot tell which axis of input '" + escaped(port.name) + "' holds positions");
  if (!whole[input].allocate(shape, port.type.bytes))
    return failure(kIo, "no memory for input '" + escaped(port.name) + "'");
  return {};
}

/// What was computed becomes the next run's past. It never leaves its rank.
void Generator::keepCache(Context &context) {
  for (const Cache &pair : description.cache) {
    std::swap(context.slices[pair.input], context.outputs[pair.output]);
    context.inputs[pair.input] = &context.slices[pair.input];
  }
}

int64_t Generator::nextToken(Context &context) {
  const Buffer &logits = context.outputs[logitsAt];
  if (logits.shape.size() < 2)
    context.fail(kInputError, "the logits have no positions");
  Best own = {0, 0, 0};
  if (logits.bytes) {
    const DType &type = description.outputs[logitsAt].type;
    own.vocabulary = logits.shape.back();
    const char *last = logits.data() + logits.bytes - own.vocabulary * type.bytes;
    own.value = valueAt(type, last, 0);
    for (int64_t i = 1; i < own.vocabulary; ++i)
      if (float value = valueAt(type, last, i); value > own.value) {
        own.value = value;
        own.index = i;
      }
  }
  std::vector<std::string> all = {std::string(reinterpret_cast<char *>(&own), sizeof own)};
  if (context.ranks > 1)
    all = context.communicator->gather(Kind::Tokens, all[0]);
  // Where every rank has all logits, rank 0 speaks; else each has some sequences or some of the vocabulary.
  if (description.outputs[logitsAt].shardAxis < 0)
    all.resize(1);
  Best best = {0, 0, 0};
  int64_t before = 0;
  for (const std::string &text : all) {
    Best other;
    std::memcpy(&other, text.data(), sizeof other);
    if (other.vocabulary && (!best.vocabulary || other.value > best.value))
      best = {other.value, before + other.index, other.vocabulary};
    before += other.vocabulary;
  }
  if (!best.vocabulary)
    context.fail(kInputError, "the logits have no positions");
  return best.index;
}

void Generator::print(bool first) const {
  if (options.promptText)
    std::fputc(static_cast<int>(tokens.back()), stdout);
  else
    std::printf("%s%lld", first ? "" : " ", static_cast<long long>(tokens.back()));
  std::fflush(stdout);
}

void Generator::run(Context &context) {
  int64_t past = 0;
  if (context.rank == 0 && options.promptText)
    std::fputs(options.promptText->c_str(), stdout);
  context.slices.resize(roles.size());
  context.inputs.resize(roles.size());
  // On a terminal the tokens themselves show how far it is.
  ProgressLine progress("token", options.generate, context.rank > 0 || ::isatty(STDOUT_FILENO));
  for (int64_t step = 0; step < options.generate; ++step) {
    progress.show(step + 1);
    Status status;
    for (size_t i = 0; i < roles.size() && status.ok(); ++i) {
      if (roles[i] == Past && step)
        continue;
      status = roles[i] == Past ? fillPast(i) : fill(i, past);
      if (status.ok())
        status = sliceInput(context, whole[i], i);
    }
    if (step == 0)
      context.agree(status);
    else if (!status.ok())
      context.fail(status.code, status.message);
    runOnce(context);
    if (cached) {
      keepCache(context);
      past = tokens.size();
    }
    tokens.push_back(nextToken(context));
    if (context.rank == 0)
      print(step == 0);
  }
  context.outputs.clear();
}

} // namespace

Status generate(const Description &description, const Weights &weights, const Status &prepared,
                const ProgramOptions &options, const RunOptions &runOptions, std::vector<RankResults> &results) {
  Generator generator(description, options);
  Status ready = prepared.ok() ? generator.prepare() : prepared;
  std::string names = "prompt\t" + std::to_string(generator.promptLength()) + " tokens\n";
  auto body = [&](Context &context) { generator.run(context); };
  Status status = launchRanks(description, weights, {ready, names}, runOptions, body, results);
  if (!results.empty())
    std::fputc('\n', stdout);
  return status;
}

} // namespace farskip::runtime
