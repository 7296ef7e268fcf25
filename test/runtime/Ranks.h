// Runs a function on forked ranks, for tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "farskip/rt.h"
#include "runtime/Ranks/Launcher.h"

namespace farskip::runtime {

inline farskip_rt_context *handle(Context &context) { return reinterpret_cast<farskip_rt_context *>(&context); }

/// What `farskip_model_run` calls: each test that runs a model sets its own.
extern void (*testModel)(farskip_rt_context *);

/// A check inside of a rank: what fails there is this rank's failure.
#define RANK_CHECK(context, condition)                                                                                 \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      (context).fail(kInternal, std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition);               \
  } while (false)

inline Description describe(int64_t ranks, const char *collectives = "[]") {
  Description description;
  std::string json =
      R"({"abi":1,"inputs":[],"outputs":[],"ranks":)" + std::to_string(ranks) + ",\"collectives\":" + collectives + "}";
  parseDescription(json.c_str(), description);
  return description;
}

inline Status onRanks(const Description &description, const RankBody &body, RunOptions options = {}) {
  Weights weights;
  std::vector<RankResults> results;
  options.threads = 1;
  if (options.timeout < 0)
    options.timeout = 30;
  return launchRanks(description, weights, {}, options, body, results);
}

/// With every transport.
inline Status onRanks(int64_t ranks, const RankBody &body) {
  for (Transports transport : {Transports::Shm, Transports::Tcp}) {
    RunOptions options;
    options.transport = transport;
    if (Status status = onRanks(describe(ranks), body, options); !status.ok() || ranks == 1)
      return status;
  }
  return {};
}

} // namespace farskip::runtime
