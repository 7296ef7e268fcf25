// A small hand-written program on one and several ranks, and what happens when a rank fails.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Ranks/Run.h"
#include "test/runtime/Ranks.h"
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>

using namespace farskip::runtime;

namespace {
enum { Works, IsKilled, Refuses } lastRank = Works;
}

/// Doubles its input, a matrix.
static void doubleInput(farskip_rt_context *context) {
  if (lastRank != Works && farskip_rt_rank_get(context) == farskip_rt_ranks_get(context) - 1) {
    if (lastRank == IsKilled)
      ::raise(SIGKILL);
    int64_t values[] = {7, 5};
    farskip_rt_run_fail(context, "index {0} is not below {1}", values, 2);
  }
  struct {
    float *allocated, *aligned;
    int64_t offset, sizes[2], strides[2];
  } matrix;
  farskip_rt_input_get(context, 0, 2, &matrix);
  std::vector<float> result(matrix.aligned, matrix.aligned + matrix.sizes[0] * matrix.sizes[1]);
  for (float &value : result)
    value *= 2;
  matrix.aligned = result.data();
  farskip_rt_output_set(context, 0, 2, &matrix);
}

namespace {

Status runOn(int64_t ranks, int64_t axis, std::vector<int64_t> shape, std::vector<Buffer> &outputs) {
  std::string port = R"([{"name":"x","dtype":"f32","dims":["a","b"],"shard_axis":)" + std::to_string(axis) + "}]";
  std::string json =
      R"({"abi":1,"ranks":)" + std::to_string(ranks) + ",\"inputs\":" + port + ",\"outputs\":" + port + "}";
  Description description;
  if (Status status = parseDescription(json.c_str(), description); !status.ok())
    return status;
  std::vector<Buffer> inputs(1);
  inputs[0].allocate(shape, 4);
  for (uint64_t i = 0; i < inputs[0].bytes / 4; ++i)
    reinterpret_cast<float *>(inputs[0].data())[i] = i;
  testModel = doubleInput;
  Weights weights;
  RunOptions options;
  options.threads = 1;
  std::vector<RankResults> results;
  return runProgram(description, weights, {}, inputs, options, outputs, results);
}

TEST(Launcher, JoinsTheBlocksOfEveryRank) {
  lastRank = Works;
  for (int64_t ranks = 1; ranks <= 5; ++ranks)
    for (int64_t axis : {-1, 0, 1})
      for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{{3, 4}, {1, 2}, {0, 3}, {7, 7}}) {
        std::vector<Buffer> outputs;
        ASSERT_TRUE(runOn(ranks, axis, shape, outputs).ok());
        ASSERT_EQ(outputs[0].shape, shape);
        for (uint64_t i = 0; i < outputs[0].bytes / 4; ++i)
          ASSERT_EQ(reinterpret_cast<float *>(outputs[0].data())[i], 2.0f * i) << ranks << " ranks, axis " << axis;
      }
}

TEST(Launcher, AKilledRankIsNamed) {
  lastRank = IsKilled;
  std::vector<Buffer> outputs;
  Status status = runOn(3, 0, {3, 4}, outputs);
  EXPECT_EQ(status.code, kPeerFailed);
  EXPECT_NE(status.message.find("rank 2 was killed by signal 9"), std::string::npos) << status.message;
  EXPECT_TRUE(outputs.empty());
}

TEST(Launcher, ABadInputValueIsReportedOnce) {
  lastRank = Refuses;
  std::vector<Buffer> outputs;
  Status status = runOn(2, 0, {3, 4}, outputs);
  EXPECT_EQ(status.code, kInputError);
  EXPECT_EQ(status.message, "index 7 is not below 5");
  EXPECT_TRUE(outputs.empty());
}

} // namespace
