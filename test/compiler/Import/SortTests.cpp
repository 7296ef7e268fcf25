// Name resolution and order.
// SPDX-License-Identifier: Apache-2.0
#include "test/compiler/Import/ReaderFixture.h"

namespace farskip::onnx::reader::test {
namespace {

using SortTest = ReaderTest;

TEST_F(SortTest, SortedGraphsKeepTheirOrder) {
  Result result =
      read(simpleModel({node("Neg", {"x"}, {"a"}), node("Abs", {"x"}, {"b"}), node("Add", {"b", "a"}, {"y"})}));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.ops(), "Neg Abs Add");
  EXPECT_TRUE(result.warnings.empty());
}

TEST_F(SortTest, UnsortedGraphsAreSortedWithAWarning) {
  Result result = read(simpleModel({node("Exp", {"x"}, {"u"}), node("Add", {"a", "b"}, {"y"}),
                                    node("Neg", {"x"}, {"a"}), node("Abs", {"a"}, {"b"})}));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.ops(), "Exp Neg Abs Add");
  EXPECT_EQ(result.warnings.size(), 1u);
}

TEST_F(SortTest, Cycles) {
  EXPECT_REFUSED(
      read(simpleModel({node("Add", {"x", "b"}, {"a"}), node("Relu", {"a"}, {"b"}), node("Abs", {"a"}, {"y"})})),
      "cycle: node 'make_a' (Add) <- node 'make_b' (Relu) <- node 'make_a' (Add)");
  EXPECT_REFUSED(read(simpleModel({node("Add", {"x", "y"}, {"y"})})), "cycle: node 'make_y' (Add) <- node 'make_y'");
}

TEST_F(SortTest, CapturesAreDependences) {
  GraphParts branch;
  branch.nodes = {node("Relu", {"late"}, {"b"})};
  branch.outputs = {valueInfo("b")};
  Proto inner = graph(branch);
  auto main = [&](const std::string &maker) {
    GraphParts parts;
    parts.nodes = {node("If", {"c"}, {"y"}, {graphAttr("then_branch", inner), graphAttr("else_branch", inner)}),
                   node("Neg", {maker}, {"late"})};
    parts.inputs = {valueInfo("x"), valueInfo("c", BOOL, {})};
    parts.outputs = {valueInfo("y")};
    return model(graph(parts));
  };
  Result result = read(main("x"));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.ops(), "Neg If");
  EXPECT_REFUSED(read(main("y")), "cycle");
}

TEST_F(SortTest, NamesNobodyMakes) {
  EXPECT_REFUSED(read(simpleModel({node("Add", {"x", "ghost"}, {"y"})})), "it reads 'ghost'");
  EXPECT_REFUSED(read(simpleModel({node("Relu", {"x"}, {"z"})})), "graph output 'y' is made by no node");
  GraphParts branch;
  branch.nodes = {node("Relu", {"ghost"}, {"b"})};
  branch.outputs = {valueInfo("b")};
  Proto inner = graph(branch);
  EXPECT_REFUSED(
      read(simpleModel({node("If", {"x"}, {"y"}, {graphAttr("then_branch", inner), graphAttr("else_branch", inner)})})),
      "node 'make_b' (Relu): it reads 'ghost'");
}

TEST_F(SortTest, NamesMadeTwice) {
  EXPECT_REFUSED(read(simpleModel({node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})})),
                 "output 'y' is made twice");
  EXPECT_REFUSED(read(simpleModel({node("Relu", {"x"}, {"x"})})), "output 'x' is made twice");
  EXPECT_REFUSED(read(simpleModel({node("Split", {"x"}, {"y", "y"})})), "output 'y' is made twice");
}

TEST_F(SortTest, InnerNamesMayHideOuterOnesOnlyWhenThatIsClear) {
  auto main = [&](const std::vector<Proto> &nodes) {
    GraphParts branch;
    branch.nodes = nodes;
    branch.outputs = {valueInfo("x")};
    Proto inner = graph(branch);
    GraphParts parts;
    parts.nodes = {node("If", {"c"}, {"y"}, {graphAttr("then_branch", inner), graphAttr("else_branch", inner)})};
    parts.inputs = {valueInfo("x"), valueInfo("z"), valueInfo("c", BOOL, {})};
    parts.outputs = {valueInfo("y")};
    return model(graph(parts));
  };
  EXPECT_READ(read(main({node("Relu", {"z"}, {"x"})})));
  EXPECT_REFUSED(read(main({node("Relu", {"x"}, {"x"})})),
                 "in node 'make_y' (If): node 'make_x' (Relu): it is not clear");
  EXPECT_REFUSED(read(main({node("Neg", {"x"}, {"t"}), node("Relu", {"z"}, {"x"})})), "not clear");
}

TEST_F(SortTest, OutputsOfEveryKind) {
  GraphParts parts;
  parts.nodes = {node("Relu", {"x"}, {"y"}), node("Neg", {"y"}, {"z"})};
  parts.inputs = {valueInfo("x")};
  parts.initializers = {tensor("w", FLOAT, {3}, rawBytes<float>({1, 2, 3}))};
  parts.outputs = {valueInfo("y"), valueInfo("y"), valueInfo("x"), valueInfo("w"), valueInfo("z")};
  EXPECT_READ(read(model(graph(parts))));
}

TEST_F(SortTest, LongChainsBackwards) {
  constexpr int length = 100000;
  std::vector<Proto> nodes;
  for (int i = length; i-- > 0;)
    nodes.push_back(
        node("Identity", {i ? "v" + std::to_string(i) : "x"}, {i + 1 == length ? "y" : "v" + std::to_string(i + 1)}));
  Result result = read(simpleModel(nodes));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.node(0).inputs[0], "x");
  EXPECT_EQ(result.node(length - 1).outputs[0], "y");
}

} // namespace
} // namespace farskip::onnx::reader::test
