// The command line of a compiled program.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Main/Options.h"
#include <set>

namespace farskip::runtime {

const char *programHelp() {
  return R"(usage: PROGRAM [OPTION...]

  --input NAME=FILE.npy       an input; may be repeated
  --output NAME=FILE.npy      where to write an output; may be repeated
  --input-dir DIR             inputs as DIR/NAME.npy
  --output-dir DIR            outputs as DIR/NAME.npy
  --prompt FILE.npy           token ids to continue, [1, length]
  --prompt-text TEXT          text to continue, where the program has a tokenizer
  --generate N                number of tokens to generate, greedily
  --repeat N                  run N times
  --threads N                 threads of each rank (default: cores divided by ranks)
  --transport shm|tcp         what moves bytes between ranks: shared memory, or TCP. Where RANK and WORLD_SIZE are set
                              (torchrun, Slurm, Open MPI), this process is one rank, and it is TCP
  --profile[=table|json]      print times
  --trace FILE.json           write what every rank did when, for chrome://tracing or Perfetto
  --describe[=table|json]     print inputs, outputs and ranks
  --help, --version

FARSKIP_TIMEOUT_S: how long a rank waits for the others, in seconds (default: 300 until the first run is done,
then 60; 0: no limit).

Exit status: 0; 1 an input is wrong; 64 usage; 70 internal error; 74 input or output; 75 a rank failed;
124 a deadline passed; 130 interrupted.
)";
}

static Status usage(const std::string &message) { return failure(kUsage, message); }

static Status number(const std::string &option, const std::string &text, int64_t least, int64_t &value) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos ||
      std::stoll(text) < least)
    return usage("option '" + option + "': '" + escaped(text) + "' is no number of " + std::to_string(least) +
                 " or more");
  value = std::stoll(text);
  return {};
}

static Status format(const std::string &option, const std::string &text, ProgramOptions::Format &value) {
  if (text != "table" && text != "json")
    return usage("option '" + option + "': '" + escaped(text) + "'; valid values are table, json");
  value = text == "json" ? ProgramOptions::Json : ProgramOptions::Table;
  return {};
}

static std::string names(const std::vector<Port> &ports) {
  std::string text;
  for (const Port &port : ports)
    text += (text.empty() ? "'" : ", '") + escaped(port.name) + "'";
  return text.empty() ? "none" : text.substr(0, 2000);
}

/// Splits NAME=FILE at the longest declared name.
static Status assign(const std::string &option, const std::string &text, const std::vector<Port> &ports,
                     std::map<std::string, std::string> &files) {
  const Port *best = nullptr;
  for (const Port &port : ports)
    if (text.size() > port.name.size() && text.compare(0, port.name.size(), port.name) == 0 &&
        text[port.name.size()] == '=' && (!best || port.name.size() > best->name.size()))
      best = &port;
  if (!best)
    return usage("option '" + option + "': '" + escaped(text) +
                 "' is not NAME=FILE with a declared name; declared: " + names(ports));
  if (!files.emplace(best->name, text.substr(best->name.size() + 1)).second)
    return usage("option '" + option + "': '" + escaped(best->name) + "' is given twice");
  return {};
}

Status parseProgramOptions(int argc, char **argv, const Description &description, ProgramOptions &options) {
  static const std::set<std::string> known = {
      "--input",   "--output",  "--input-dir", "--output-dir", "--prompt",   "--prompt-text", "--generate", "--repeat",
      "--threads", "--profile", "--trace",     "--transport",  "--describe", "--help",        "--version"};
  static const std::set<std::string> flags = {"--profile", "--describe", "--help", "--version"};
  std::set<std::string> seen;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], name = argument.substr(0, argument.find('='));
    bool hasValue = name.size() != argument.size();
    std::string value = hasValue ? argument.substr(name.size() + 1) : "";
    if (!known.count(name))
      return usage("unknown option '" + escaped(argument) + "'; see --help");
    if (!hasValue && !flags.count(name)) {
      if (++i == argc)
        return usage("option '" + name + "' needs a value");
      value = argv[i];
    }
    if (!seen.insert(name).second && name != "--input" && name != "--output")
      return usage("option '" + name + "' is given twice");
    if (hasValue && (name == "--help" || name == "--version"))
      return usage("option '" + name + "' takes no value");
    Status status;
    if (name == "--input")
      status = assign(name, value, description.inputs, options.inputs);
    else if (name == "--output")
      status = assign(name, value, description.outputs, options.outputs);
    else if (name == "--input-dir")
      options.inputDir = value;
    else if (name == "--output-dir")
      options.outputDir = value;
    else if (name == "--prompt")
      options.prompt = value;
    else if (name == "--prompt-text")
      options.promptText = value;
    else if (name == "--transport" && value != "shm" && value != "tcp")
      status = usage("option '--transport': '" + escaped(value) + "'; valid values are shm, tcp");
    else if (name == "--transport")
      options.transport = value;
    else if (name == "--trace")
      options.trace = value;
    else if (name == "--generate")
      status = number(name, value, 1, options.generate);
    else if (name == "--repeat")
      status = number(name, value, 1, options.repeat);
    else if (name == "--threads")
      status = number(name, value, 1, options.threads);
    else if (name == "--help")
      options.help = true;
    else if (name == "--version")
      options.version = true;
    else
      status = format(name, hasValue ? value : "table", name == "--profile" ? options.profile : options.describe);
    if (!status.ok())
      return status;
  }
  bool prompt = options.prompt || options.promptText;
  if (options.prompt && options.promptText)
    return usage("--prompt and --prompt-text exclude each other");
  if (prompt != (options.generate > 0))
    return usage("--generate needs --prompt or --prompt-text, and these need "
                 "--generate");
  for (const char *name : {"--input", "--input-dir", "--output", "--output-dir", "--repeat"})
    if (prompt && seen.count(name))
      return usage(std::string("option '") + name + "' has no effect with --generate");
  if (options.promptText && description.tokenizer != "bytes")
    return usage("--prompt-text needs a program with a tokenizer (metadata "
                 "farskip.tokenizer); use --prompt FILE.npy");
  return {};
}

} // namespace farskip::runtime
