// Generation with and without a cache, on several ranks, with a small hand-written model.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Main/Generate.h"
#include "test/runtime/Ranks.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace farskip::runtime;

namespace {

constexpr int64_t kVocabulary = 97;
bool withCache;

template <typename T, int Rank> struct View {
  T *allocated, *aligned;
  int64_t offset, sizes[Rank], strides[Rank];
};

template <typename T, int Rank> View<T, Rank> input(farskip_rt_context *context, int64_t index) {
  View<T, Rank> view;
  farskip_rt_input_get(context, index, Rank, &view);
  return view;
}

template <typename T, int Rank>
void output(farskip_rt_context *context, int64_t index, std::vector<T> &data, std::array<int64_t, Rank> shape) {
  View<T, Rank> view = {data.data(), data.data(), 0, {}, {}};
  int64_t stride = 1;
  for (int axis = Rank - 1; axis >= 0; --axis) {
    view.sizes[axis] = shape[axis];
    view.strides[axis] = stride;
    stride *= shape[axis];
  }
  farskip_rt_output_set(context, index, Rank, &view);
}

/// The next token is a hash of all tokens so far. The cache is the tokens.
void hashTokens(farskip_rt_context *context) {
  auto ids = input<int64_t, 2>(context, 0);
  auto mask = input<int64_t, 2>(context, 1);
  auto positions = input<int64_t, 2>(context, 2);
  int64_t batch = ids.sizes[0], length = ids.sizes[1];
  std::vector<float> all;
  if (withCache) {
    auto past = input<float, 4>(context, 3);
    all.assign(past.aligned, past.aligned + batch * past.sizes[2]);
    if (past.sizes[0] != batch || past.sizes[1] != 1 || past.sizes[3] != 1)
      farskip_rt_run_fail(context, "wrong past", nullptr, 0);
  }
  int64_t before = all.size();
  all.insert(all.end(), ids.aligned, ids.aligned + batch * length);
  int64_t total = all.size();
  for (int64_t i = 0; i < batch * length; ++i)
    if (positions.aligned[i] != before + i)
      farskip_rt_run_fail(context, "wrong position {0}", &positions.aligned[i], 1);
  if (batch && (mask.sizes[1] != total || std::accumulate(mask.aligned, mask.aligned + total, int64_t{0}) != total))
    farskip_rt_run_fail(context, "wrong mask of {0}", &mask.sizes[1], 1);
  int64_t hash = 5;
  for (float token : all)
    hash = (hash * 31 + static_cast<int64_t>(token)) % kVocabulary;
  std::vector<float> logits(batch * length * kVocabulary, -1);
  if (batch)
    logits[(length - 1) * kVocabulary + hash] = 1;
  output<float, 3>(context, 0, logits, {batch, length, kVocabulary});
  if (withCache)
    output<float, 4>(context, 1, all, {batch, 1, batch ? total : 0, 1});
}

std::string generated(int64_t ranks, bool cache, std::vector<size_t> &runs) {
  withCache = cache;
  testModel = hashTokens;
  std::string json = R"({"abi":1,"tokenizer":"bytes","ranks":)" + std::to_string(ranks) + R"(,"inputs":[
    {"name":"ids","dtype":"i64","dims":["batch","length"],"shard_axis":0,"role":"tokens"},
    {"name":"mask","dtype":"i64","dims":["batch","past + length"],"shard_axis":0,"role":"attention_mask"},
    {"name":"positions","dtype":"i64","dims":["batch","length"],"shard_axis":0,"role":"position_ids"})";
  if (cache)
    json += R"(,{"name":"past","dtype":"f32","dims":["batch",1,"past",1],"shard_axis":0})";
  json += R"(],"outputs":[{"name":"logits","dtype":"f32","dims":["batch","length",97],"shard_axis":0,"role":"logits"})";
  if (cache)
    json += R"(,{"name":"present","dtype":"f32","dims":["batch",1,"past + length",1],"shard_axis":0})";
  json += cache ? R"(],"cache":[{"input":3,"output":1}]})" : "]}";
  Description description;
  EXPECT_TRUE(parseDescription(json.c_str(), description).ok());
  ProgramOptions options;
  options.promptText = "In the beginning";
  options.generate = 20;
  RunOptions runOptions;
  runOptions.threads = 1;
  std::vector<RankResults> results;
  testing::internal::CaptureStdout();
  Status status = generate(description, Weights(), {}, options, runOptions, results);
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(status.code, kOk) << status.message;
  for (const RankResults &result : results)
    runs.push_back(result.seconds.size());
  return text;
}

TEST(Generate, CacheAndRanksChangeNothing) {
  std::vector<size_t> runs;
  std::string text = generated(1, false, runs);
  EXPECT_EQ(text.substr(0, 16), "In the beginning");
  EXPECT_EQ(text.size(), 16u + 20 + 1);
  for (int64_t ranks = 1; ranks <= 3; ++ranks)
    for (bool cache : {false, true}) {
      runs.clear();
      EXPECT_EQ(generated(ranks, cache, runs), text) << ranks << " ranks, cache " << cache;
      EXPECT_EQ(runs, std::vector<size_t>(ranks, 20));
    }
}

TEST(Generate, InputsWithoutAMeaningAreRefused) {
  Description description;
  ASSERT_TRUE(parseDescription(R"({"abi":1,"tokenizer":"bytes","ranks":1,"inputs":[
    {"name":"ids","dtype":"i64","dims":["b","s"],"role":"tokens"},{"name":"pixels","dtype":"f32","dims":["b"]}],
    "outputs":[{"name":"logits","dtype":"f32","dims":["b","s",97],"role":"logits"}]})",
                               description)
                  .ok());
  ProgramOptions options;
  options.promptText = "x";
  options.generate = 1;
  std::vector<RankResults> results;
  Status status = generate(description, Weights(), {}, options, {}, results);
  EXPECT_EQ(status.code, kUsage);
  EXPECT_NE(status.message.find("pixels"), std::string::npos) << status.message;
}

} // namespace
