// Old forms of operators and what they become.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/OperatorTable.h"
#include "test/compiler/Import/ReaderFixture.h"
#include <limits>

namespace farskip::onnx::reader::test {
namespace {

using Ints = std::vector<int64_t>;

class UpgradeTest : public ReaderTest {
protected:
  Result readOp(const std::string &op, uint64_t opset, const std::vector<Proto> &attributes,
                const Names &inputs = {"x"}) {
    return read(simpleModel({node(op, inputs, {"y"}, attributes)}, opset));
  }
  /// A model whose x has these dims.
  Result readWithDims(const std::string &op, uint64_t opset, const std::vector<Proto> &attributes, const Dims &dims) {
    GraphParts parts;
    parts.nodes = {node(op, {"x"}, {"y"}, attributes)};
    parts.inputs = {valueInfo("x", FLOAT, dims)};
    parts.outputs = {valueInfo("y", FLOAT, dims)};
    return read(model(graph(parts), opset));
  }
};

TEST_F(UpgradeTest, VersionTable) {
  EXPECT_EQ(sinceVersion("Softmax", 12), 11u);
  EXPECT_EQ(sinceVersion("Softmax", 28), 13u);
  EXPECT_EQ(sinceVersion("Gelu", 19), 0u);
  EXPECT_TRUE(operatorVersions("NoSuchOperator").empty());
  EXPECT_EQ(laterAttributes("TopK").size(), 2u);
  EXPECT_TRUE(laterAttributes("Relu").empty());
}

TEST_F(UpgradeTest, OperatorsAndAttributesOfLaterOpsets) {
  EXPECT_REFUSED(readOp("Gelu", 19, {}), "exists from opset 20");
  EXPECT_READ(readOp("Gelu", 20, {}));
  EXPECT_READ(readOp("LayerNormalization", 11, {}, {"x", "x"}));
  EXPECT_REFUSED(readOp("ArgMax", 11, {intAttr("select_last_index", 1)}), "exists from opset 12");
  EXPECT_REFUSED(readOp("Reshape", 13, {intAttr("allowzero", 1)}, {"x", "x"}), "'allowzero' exists from opset 14");
}

TEST_F(UpgradeTest, ReductionAxes) {
  for (const char *op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
                         "ReduceLogSumExp", "ReduceSumSquare"}) {
    Result result = readOp(op, 17, {intsAttr("axes", {-1, 0}), intAttr("keepdims", 0)});
    ASSERT_TRUE(result.ok()) << result.error;
    EXPECT_EQ(result.inputValues<int64_t>(result.node(0), 1), (Ints{-1, 0}));
    EXPECT_EQ(result.node(0).attribute("axes"), nullptr);
    EXPECT_EQ(result.node(0).attribute("keepdims")->i, 0);
  }
  Result all = readOp("ReduceSum", 12, {});
  ASSERT_TRUE(all.ok()) << all.error;
  EXPECT_EQ(all.node(0).inputs.size(), 1u);
  EXPECT_REFUSED(readOp("ReduceSum", 12, {}, {"x", "x"}), "in opset 12 it has 1");
  EXPECT_REFUSED(readOp("ReduceSum", 12, {intAttr("axes", 0)}), "'axes' is INT; it has to be INTS");
  // From 13 on the attribute is unknown, and whoever knows the operator says so.
  EXPECT_NE(readOp("ReduceSum", 13, {intsAttr("axes", {0})}).node(0).attribute("axes"), nullptr);
}

TEST_F(UpgradeTest, SqueezeAndUnsqueeze) {
  Result squeeze = readOp("Squeeze", 11, {});
  ASSERT_TRUE(squeeze.ok()) << squeeze.error;
  EXPECT_EQ(squeeze.node(0).inputs.size(), 1u);
  Result unsqueeze = readOp("Unsqueeze", 11, {intsAttr("axes", {0, 2})});
  ASSERT_TRUE(unsqueeze.ok()) << unsqueeze.error;
  EXPECT_EQ(unsqueeze.inputValues<int64_t>(unsqueeze.node(0), 1), (Ints{0, 2}));
  EXPECT_REFUSED(readOp("Unsqueeze", 11, {}), "'axes' is missing");
}

TEST_F(UpgradeTest, Slice) {
  Result result = readOp("Slice", 9, {intsAttr("starts", {1}), intsAttr("ends", {-1}), intsAttr("axes", {0})});
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.inputValues<int64_t>(result.node(0), 1), (Ints{1}));
  EXPECT_EQ(result.inputValues<int64_t>(result.node(0), 2), (Ints{-1}));
  EXPECT_EQ(result.inputValues<int64_t>(result.node(0), 3), (Ints{0}));
  EXPECT_EQ(readOp("Slice", 9, {intsAttr("starts", {1}), intsAttr("ends", {2})}).node(0).inputs.size(), 3u);
  EXPECT_REFUSED(readOp("Slice", 9, {intsAttr("starts", {1})}), "'ends' is missing");
  EXPECT_REFUSED(readOp("Slice", 9, {intsAttr("starts", {1}), intsAttr("ends", {1, 2})}), "2 entries");
}

TEST_F(UpgradeTest, Split) {
  Result sizes = readOp("Split", 11, {intsAttr("split", {3})});
  ASSERT_TRUE(sizes.ok()) << sizes.error;
  EXPECT_EQ(sizes.inputValues<int64_t>(sizes.node(0), 1), (Ints{3}));
  EXPECT_EQ(sizes.node(0).attribute("num_outputs"), nullptr);
  for (uint64_t opset : {11, 17}) {
    Result equal = readOp("Split", opset, {});
    ASSERT_TRUE(equal.ok()) << equal.error;
    EXPECT_EQ(equal.node(0).attribute("num_outputs")->i, 1);
  }
}

TEST_F(UpgradeTest, TopK) {
  Result result = readOp("TopK", 9, {intAttr("k", 2)});
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.inputValues<int64_t>(result.node(0), 1), (Ints{2}));
  EXPECT_REFUSED(readOp("TopK", 9, {}), "'k' is missing");
  EXPECT_REFUSED(readOp("TopK", 10, {intAttr("largest", 0)}, {"x", "x"}), "'largest' exists from opset 11");
}

TEST_F(UpgradeTest, SoftmaxFlattens) {
  // Rank 3, default axis 1: not the last axis.
  Result flat = readWithDims("Softmax", 11, {}, {2, 3, 4});
  ASSERT_TRUE(flat.ok()) << flat.error;
  EXPECT_EQ(flat.ops(), "Shape Flatten Softmax Reshape");
  EXPECT_EQ(flat.node(1).attribute("axis")->i, 1);
  EXPECT_EQ(flat.node(2).attribute("axis")->i, -1);
  EXPECT_EQ(flat.node(3).attribute("allowzero")->i, 1);
  EXPECT_EQ(flat.node(3).outputs[0], "y");
  EXPECT_EQ(flat.node(2).name, "make_y");
  // The last axis of a known rank, or -1 of any, is what the newest form has.
  for (const char *op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    EXPECT_EQ(readWithDims(op, 11, {intAttr("axis", 2)}, {2, 3, 4}).ops(), op);
    EXPECT_EQ(readWithDims(op, 12, {intAttr("axis", -1)}, {2, 3, 4}).node(0).attribute("axis")->i, -1);
  }
  EXPECT_REFUSED(readWithDims("Softmax", 11, {intAttr("axis", 3)}, {2, 3, 4}), "axis 3 is not within rank 3");
  Result newest = readWithDims("Softmax", 13, {}, {2, 3, 4});
  ASSERT_TRUE(newest.ok()) << newest.error;
  EXPECT_EQ(newest.ops(), "Softmax");
  EXPECT_EQ(newest.node(0).attribute("axis"), nullptr);
}

TEST_F(UpgradeTest, ClipBounds) {
  Result result = readOp("Clip", 6 + 1, {floatAttr("min", 0)});
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.ops(), "CastLike CastLike Clip");
  EXPECT_EQ(result.inputValues<float>(result.node(0), 0), std::vector<float>{0});
  EXPECT_EQ(result.inputValues<float>(result.node(1), 0), std::vector<float>{std::numeric_limits<float>::max()});
  EXPECT_EQ(result.node(2).inputs[1], result.node(0).outputs[0]);
}

TEST_F(UpgradeTest, Pad) {
  Result result = readOp("Pad", 10, {intsAttr("pads", {1, 2}), floatAttr("value", 3), stringAttr("mode", "constant")});
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.ops(), "CastLike Pad");
  EXPECT_EQ(result.inputValues<int64_t>(result.node(1), 1), (Ints{1, 2}));
  EXPECT_REFUSED(readOp("Pad", 10, {}), "'pads' is missing");
}

TEST_F(UpgradeTest, Scatter) {
  EXPECT_EQ(readOp("Scatter", 9, {}, {"x", "x", "x"}).ops(), "ScatterElements");
  EXPECT_READ(readOp("ScatterElements", 16, {stringAttr("reduction", "mul")}, {"x", "x", "x"}));
  EXPECT_REFUSED(readOp("ScatterElements", 16, {stringAttr("reduction", "max")}, {"x", "x", "x"}), "'max' is unknown");
  EXPECT_REFUSED(readOp("ScatterND", 18, {stringAttr("reduction", "xor")}, {"x", "x", "x"}), "'xor' is unknown");
}

TEST_F(UpgradeTest, Dropout) {
  EXPECT_EQ(readOp("Dropout", 11, {floatAttr("ratio", 0.5f)}).ops(), "Identity");
  EXPECT_EQ(readOp("Dropout", 13, {}).ops(), "Identity");
  Result mask = read(simpleModel({node("Dropout", {"x"}, {"d", "y"})}, 9));
  ASSERT_TRUE(mask.ok()) << mask.error;
  EXPECT_EQ(mask.ops(), "Identity Shape CastLike Expand");
  EXPECT_EQ(read(simpleModel({node("Dropout", {"x"}, {"d", "y"})}, 12)).ops(), "Identity Shape Expand");
  // Training decided at run time stays a Dropout.
  EXPECT_EQ(readOp("Dropout", 13, {}, {"x", "", "x"}).ops(), "Dropout");
  GraphParts parts;
  parts.nodes = {node("Dropout", {"x", "", "off"}, {"y"})};
  parts.inputs = {valueInfo("x")};
  parts.outputs = {valueInfo("y")};
  parts.initializers = {tensor("off", BOOL, {}, std::string(1, '\0'))};
  EXPECT_EQ(read(model(graph(parts))).ops(), "Identity");
}

TEST_F(UpgradeTest, CastTargets) {
  EXPECT_READ(readOp("Cast", 13, {intAttr("to", 10)}));
  EXPECT_REFUSED(readOp("Cast", 13, {intAttr("to", 99)}), "'to' is 99");
  EXPECT_REFUSED(readOp("Cast", 13, {intAttr("to", (int64_t{1} << 32) + 1)}), "'to' is 4294967297");
}

TEST_F(UpgradeTest, ConstantForms) {
  auto readConstant = [&](const std::vector<Proto> &attributes) {
    return read(simpleModel({node("Constant", {}, {"y"}, attributes)}, 17));
  };
  auto value = [&](const Result &result) { return result.node(0).attribute("value")->tensor; };
  Result scalar = readConstant({intAttr("value_int", -5)});
  ASSERT_TRUE(scalar.ok()) << scalar.error;
  EXPECT_TRUE(value(scalar)->dims.empty());
  EXPECT_EQ(scalar.values<int64_t>(value(scalar)), (Ints{-5}));
  Result list = readConstant({intsAttr("value_ints", {1, 2})});
  ASSERT_TRUE(list.ok()) << list.error;
  EXPECT_EQ(Ints(value(list)->dims.begin(), value(list)->dims.end()), (Ints{2}));
  EXPECT_EQ(list.values<int64_t>(value(list)), (Ints{1, 2}));
  Result real = readConstant({floatAttr("value_float", 0.5f)});
  ASSERT_TRUE(real.ok()) << real.error;
  EXPECT_EQ(real.values<float>(value(real)), std::vector<float>{0.5f});
  Result text = readConstant({stringAttr("value_string", "s")});
  ASSERT_TRUE(text.ok()) << text.error;
  EXPECT_EQ(value(text)->strings[0], "s");
  EXPECT_READ(readConstant({tensorAttr("value", tensor("t", FLOAT, {1}, rawBytes<float>({1})))}));
  EXPECT_REFUSED(readConstant({}), "exactly one value");
  EXPECT_REFUSED(readConstant({intAttr("value_int", 1), floatAttr("value_float", 1)}), "exactly one value");
  EXPECT_REFUSED(readConstant({floatAttr("value_int", 1)}), "is no value");
  EXPECT_REFUSED(read(simpleModel({node("Constant", {}, {"y"}, {intAttr("value_int", 1)})}, 11)),
                 "exists from opset 12");
}

TEST_F(UpgradeTest, UnknownOperatorsStay) {
  Result result = read(simpleModel({node("Nope", {"x"}, {"y"}, {intAttr("a", 1)}, "foo")}));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.node(0).domain, "foo");
  EXPECT_EQ(result.node(0).opset, 0u);
}

} // namespace
} // namespace farskip::onnx::reader::test
