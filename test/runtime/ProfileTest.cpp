// The profile and the trace of a run on several ranks.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Main/Profile.h"
#include "test/runtime/Ranks.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace farskip::runtime;
using nlohmann::json;

namespace {

constexpr int64_t kRuns = 3, kCount = 5000;

/// Three runs with an all_reduce of layer 4 and a barrier.
std::vector<RankResults> resultsOf(const Description &description) {
  Weights weights;
  RunOptions options;
  options.threads = 1;
  options.trace = true;
  std::vector<RankResults> results;
  Status status = launchRanks(
      description, weights, {}, options,
      [](Context &context) {
        std::vector<float> data(kCount, 1);
        for (int64_t i = 0; i < kRuns; ++i) {
          context.communicator->beginCompute();
          farskip_rt_request *request =
              farskip_rt_all_reduce_start(handle(context), 0, data.data(), data.data(), kCount, FARSKIP_F32);
          ::usleep(5000);
          farskip_rt_request_wait(handle(context), request);
          farskip_rt_barrier(handle(context), 1);
          context.communicator->endCompute();
          context.seconds.push_back(0.25);
        }
      },
      results);
  EXPECT_EQ(status.code, kOk) << status.message;
  return results;
}

const char *kCollectives =
    R"([{"kind":"all_reduce","name":"sum \"it\"","layer":4},{"kind":"barrier","name":"","layer":-1}])";

TEST(Profile, JsonHasEveryOperation) {
  for (int64_t ranks = 1; ranks <= 3; ++ranks) {
    Description description = describe(ranks, kCollectives);
    std::vector<RankResults> results = resultsOf(description);
    ASSERT_EQ(results.size(), static_cast<size_t>(ranks));
    json profile = json::parse(profileJson(description, results, {0.5, 1.5, 0.125}));
    EXPECT_EQ(profile["runs"], kRuns);
    EXPECT_EQ(profile["ranks"], ranks);
    EXPECT_EQ(profile["total_s"], 0.75);
    EXPECT_EQ(profile["phases"]["load_s"], 0.5);
    EXPECT_EQ(profile["phases"]["other_runs_s"], 0.5);
    ASSERT_EQ(profile["collectives"].size(), 2u);
    json sum = profile["collectives"][0];
    EXPECT_EQ(sum["kind"], "all_reduce");
    EXPECT_EQ(sum["name"], "sum \"it\"");
    EXPECT_EQ(sum["layer"], 4);
    EXPECT_EQ(sum["count"], kRuns);
    // Each rank sends everyone else's block, then its own to everyone.
    EXPECT_EQ(sum["bytes"], kRuns * 2 * (ranks - 1) * kCount * 4);
    EXPECT_LE(sum["hidden_share"], 1.0);
    if (ranks > 1) {
      EXPECT_GT(sum["hidden_share"], 0.5) << "five milliseconds hide a small exchange";
      EXPECT_GT(sum["span_s"], 0.0);
    }
    EXPECT_EQ(profile["per_rank"].size(), results.size());
    std::string table = profileTable(description, results, {});
    for (const char *word : {"all_reduce", "barrier", "hidden", "sum \"it\""})
      EXPECT_NE(table.find(word), std::string::npos) << table;
  }
}

TEST(Profile, TraceHasRowsThatDoNotOverlap) {
  Description description = describe(2, kCollectives);
  std::vector<RankResults> results = resultsOf(description);
  json trace = json::parse(traceJson(description, results));
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> rows;
  std::map<std::string, int> counts;
  for (const json &event : trace["traceEvents"]) {
    if (event["ph"] != "X")
      continue;
    ++counts[event["cat"]];
    rows[{event["pid"], event["tid"]}].push_back({event["ts"], event["ts"].get<double>() + event["dur"].get<double>()});
  }
  EXPECT_EQ(rows.size(), 4u);
  for (auto &[key, spans] : rows) {
    std::sort(spans.begin(), spans.end());
    for (size_t i = 1; i < spans.size(); ++i)
      EXPECT_GE(spans[i].first, spans[i - 1].second - 0.002);
  }
  // Handshake, agreement at the end, and two exchanges a run.
  EXPECT_EQ(counts["exchange"], 2 * (2 * kRuns + 1));
  EXPECT_EQ(counts["wait"], counts["exchange"]);
  EXPECT_GE(counts["compute"], 2 * 3 * kRuns);
}

TEST(Profile, WithoutTraceNothingIsRecorded) {
  Weights weights;
  std::vector<RankResults> results;
  Description description = describe(2);
  ASSERT_TRUE(
      launchRanks(
          description, weights, {}, {}, [](Context &context) { farskip_rt_barrier(handle(context), 0); }, results)
          .ok());
  EXPECT_TRUE(results[0].trace.empty());
}

} // namespace
