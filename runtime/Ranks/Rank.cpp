// What every rank does, whoever started it.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/Rank.h"
#include <algorithm>
#include <sstream>
#include <thread>

namespace farskip::runtime {

static constexpr int64_t kStartTimeout = 300, kSteadyTimeout = 60;

int64_t startTimeout(const RunOptions &options) { return options.timeout < 0 ? kStartTimeout : options.timeout; }

void setUp(Context &context, const RunOptions &options, int64_t localRanks) {
  int64_t cores = std::thread::hardware_concurrency();
  int64_t threads = options.threads ? options.threads : std::max<int64_t>(1, cores / localRanks);
  context.pool = std::make_unique<Pool>(threads);
  context.steadyTimeout = options.timeout < 0 ? kSteadyTimeout : options.timeout;
  context.communicator->setDeadline(startTimeout(options));
  context.communicator->tracing = options.trace;
}

void failRank(void *context, int code, const std::string &message) {
  static_cast<Context *>(context)->fail(code, message);
}

void shakeHands(Context &context, const std::string &names) {
  const Description &description = *context.description;
  std::string own = "build id\t" + description.buildId + "\nworld size\t" + std::to_string(context.ranks) +
                    "\nweights\t" + std::to_string(description.weightsBytes) + " bytes\n" + names;
  std::vector<std::string> all = context.communicator->gather(Kind::Handshake, own);
  for (int64_t rank = 1; rank < context.ranks; ++rank) {
    std::istringstream first(all[0]), other(all[rank]);
    std::string ours, theirs;
    while (all[0] != all[rank]) {
      ours.clear(), theirs.clear();
      std::getline(first, ours);
      std::getline(other, theirs);
      if (ours == theirs)
        continue;
      std::string what = (ours.empty() ? theirs : ours).substr(0, (ours.empty() ? theirs : ours).find('\t'));
      auto value = [](const std::string &line) { return line.substr(std::min(line.find('\t') + 1, line.size())); };
      if (context.rank) // all see it, one says it
        context.communicator->awaitAbort();
      context.fail(kInputError, "the ranks disagree on the " + what + ": rank 0 has " + value(ours) + ", rank " +
                                    std::to_string(rank) + " has " + value(theirs));
    }
  }
}

} // namespace farskip::runtime
