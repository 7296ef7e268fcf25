// Checks of input types and shapes against what the program declares.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Model/Description.h"
#include <gtest/gtest.h>

using namespace farskip::runtime;

namespace {

const char *kDescription = R"({"abi":1,"name":"m","build_id":"00","ranks":2,"inputs":[
  {"name":"ids","dtype":"i64","dims":["batch","length"],"shard_axis":0},
  {"name":"mask","dtype":"i64","dims":["batch","past + length"],"shard_axis":0},
  {"name":"past","dtype":"bf16","dims":["batch",4,"past",null],"shard_axis":0}],"outputs":[]})";

class Shape : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(parseDescription(kDescription, description).ok()); }

  void refuses(const Status &status, std::initializer_list<const char *> words) {
    EXPECT_EQ(status.code, kInputError);
    for (const char *word : words)
      EXPECT_NE(status.message.find(word), std::string::npos) << status.message << " lacks " << word;
  }

  Description description;
  ShapeChecker checker;
};

TEST_F(Shape, AcceptsOneValueForEachSymbol) {
  EXPECT_TRUE(checker.check(description.inputs[0], "<i8", {2, 7}).ok());
  EXPECT_TRUE(checker.check(description.inputs[2], "|V2", {2, 4, 3, 99}).ok());
  EXPECT_TRUE(checker.check(description.inputs[1], "<i8", {2, 10}).ok());
}

TEST_F(Shape, NamesWhatDiffers) {
  refuses(checker.check(description.inputs[0], "<i4", {2, 7}), {"ids", "i4", "i64"});
  refuses(checker.check(description.inputs[0], "<i8", {7}), {"ids", "rank 1", "2"});
  ASSERT_TRUE(checker.check(description.inputs[0], "<i8", {2, 7}).ok());
  refuses(checker.check(description.inputs[1], "<i8", {3, 7}), {"mask", "axis 0", "batch", "3", "2", "ids"});
  refuses(checker.check(description.inputs[2], "<V2", {2, 5, 3, 1}), {"past", "axis 1", "5", "4"});
}

TEST_F(Shape, CachesArePairedByShape) {
  auto pairsOf = [](const std::string &past, const std::string &present) {
    Description model;
    std::string json = R"({"abi":1,"inputs":[{"name":"ids","dtype":"i64","dims":["b","s"],"role":"tokens"},
      {"name":"attention_mask","dtype":"i64","dims":["b","t"]},{"name":"k","dtype":"f32","dims":)" +
                       past + R"(}],"outputs":[{"name":"logits","dtype":"f32","dims":["b","s",7],"role":"logits"},
      {"name":"new_k","dtype":"f32","dims":)" +
                       present + "}]}";
    EXPECT_TRUE(parseDescription(json.c_str(), model).ok());
    EXPECT_EQ(model.inputs[1].role, "attention_mask");
    return model.cache;
  };
  std::vector<Cache> pairs = pairsOf(R"(["b",2,"p",8])", R"(["b",2,"p + s",8])");
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].input, 2u);
  EXPECT_EQ(pairs[0].output, 1u);
  EXPECT_EQ(pairsOf(R"(["b","2","p",8])", R"(["b",2,"p + s",8])").size(), 1u) << "a constant may be text";
  EXPECT_TRUE(pairsOf(R"(["b",2,"p",8])", R"(["b",2,"p",8])").empty());
  EXPECT_TRUE(pairsOf(R"(["b",2,"p",8])", R"(["b",3,"p + s",8])").empty());
  EXPECT_TRUE(pairsOf(R"(["b",2,"p",8])", R"(["b",2,"p + s"])").empty());
}

TEST_F(Shape, BadDescriptionsAreInternalErrors) {
  for (const char *text : {"", "[]", "{}", R"({"abi":2})"}) {
    Description other;
    EXPECT_EQ(parseDescription(text, other).code, kInternal) << text;
  }
}

} // namespace
