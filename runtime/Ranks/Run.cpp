// Runs the program on its ranks and brings their outputs together.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/Run.h"
#include "farskip/rt.h"
#include "runtime/Ranks/ProgressLine.h"
#include "runtime/Transport/Futex.h"

namespace farskip::runtime {

void runOnce(Context &context) {
  context.outputs.resize(context.description->outputs.size());
  int64_t start = nowNs();
  context.communicator->beginCompute();
  farskip_model_run(reinterpret_cast<farskip_rt_context *>(&context));
  context.communicator->endCompute();
  context.seconds.push_back(static_cast<double>(nowNs() - start) * 1e-9);
  context.communicator->setDeadline(context.steadyTimeout);
}

static std::string inputText(const Description &description, const std::vector<Buffer> &inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += "input '" + escaped(description.inputs[i].name) + "'\t" + description.inputs[i].type.name + " [";
    for (size_t axis = 0; axis < inputs[i].shape.size(); ++axis)
      text += (axis ? ", " : "") + std::to_string(inputs[i].shape[axis]);
    text += "]\n";
  }
  return text;
}

Status runProgram(const Description &description, const Weights &weights, const Status &prepared,
                  const std::vector<Buffer> &inputs, const RunOptions &options, std::vector<Buffer> &outputs,
                  std::vector<RankResults> &results) {
  auto body = [&](Context &context) {
    context.agree(sliceInputs(context, inputs));
    ProgressLine progress("run", options.repeat, context.rank > 0);
    for (int64_t i = 0; i < options.repeat; ++i) {
      progress.show(i + 1);
      runOnce(context);
    }
  };
  if (Status status = launchRanks(description, weights, {prepared, prepared.ok() ? inputText(description, inputs) : ""},
                                  options, body, results);
      !status.ok())
    return status;
  if (results.empty())
    return {};
  return joinOutputs(description, results, outputs);
}

} // namespace farskip::runtime
