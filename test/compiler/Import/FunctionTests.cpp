// Model-local functions.
// SPDX-License-Identifier: Apache-2.0
#include "test/compiler/Import/ReaderFixture.h"

namespace farskip::onnx::reader::test {
namespace {

class FunctionTest : public ReaderTest {
protected:
  static Proto withFunctions(const std::vector<Proto> &nodes, const std::vector<FunctionParts> &functions) {
    Proto proto = simpleModel(nodes, 18);
    proto.message(8, opsetImport("local", 1));
    for (const FunctionParts &parts : functions)
      proto.message(25, function(parts));
    return proto;
  }
  static FunctionParts simple(const std::string &name, const std::vector<Proto> &nodes) {
    return {.name = name, .inputs = {"p"}, .outputs = {"q"}, .nodes = nodes, .attributes = {}, .defaults = {}};
  }
  static Proto call(const std::string &name, const Names &inputs, const Names &outputs,
                    const std::vector<Proto> &attributes = {}) {
    return node(name, inputs, outputs, attributes, "local");
  }
};

TEST_F(FunctionTest, InlinesWithFreshNames) {
  FunctionParts f = simple("F", {node("Relu", {"p"}, {"t"}), node("Neg", {"t"}, {"q"})});
  // The caller has values of the same names as the body.
  Result result =
      read(withFunctions({call("F", {"x"}, {"t"}), call("F", {"t"}, {"q"}), node("Abs", {"q"}, {"y"})}, {f}));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.ops(), "Relu Neg Relu Neg Abs");
  EXPECT_EQ(result.node(0).inputs[0], "x");
  EXPECT_EQ(result.node(1).outputs[0], "t");
  EXPECT_NE(result.node(0).outputs[0], "t");
  EXPECT_NE(result.node(0).outputs[0], result.node(2).outputs[0]);
  EXPECT_EQ(result.node(2).inputs[0], "t");
  EXPECT_EQ(result.node(0).name, "make_t/make_t");
  EXPECT_TRUE(result.model->functions.empty());
}

TEST_F(FunctionTest, AttributesAndOpsets) {
  FunctionParts f = simple("F", {node("Softmax", {"p"}, {"q"}, {refAttr("axis", "a", 2)})});
  f.defaults = {intAttr("a", 0)};
  Result given = read(withFunctions({call("F", {"x"}, {"y"}, {intAttr("a", -1)})}, {f}));
  ASSERT_TRUE(given.ok()) << given.error;
  EXPECT_EQ(given.node(0).attribute("axis")->i, -1);
  EXPECT_EQ(given.node(0).opset, 17u); // the function's, not the model's 18
  Result defaulted = read(withFunctions({call("F", {"x"}, {"y"})}, {f}));
  ASSERT_TRUE(defaulted.ok()) << defaulted.error;
  EXPECT_EQ(defaulted.node(0).attribute("axis")->i, 0);
  EXPECT_EQ(defaulted.node(0).attribute("axis")->reference, "");

  f.defaults = {};
  f.attributes = {"a"};
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y"})}, {f})), "which the call does not give");
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y"}, {floatAttr("a", 1)})}, {f})), "is declared INT");
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y"}, {intAttr("a", 1), intAttr("b", 1)})}, {f})),
                 "does not declare");
}

TEST_F(FunctionTest, BodiesOfOlderOpsetsAreUpgraded) {
  FunctionParts f = simple("F", {node("ReduceSum", {"p"}, {"q"}, {intsAttr("axes", {0})})});
  f.opset = 11;
  Result result = read(withFunctions({call("F", {"x"}, {"y"})}, {f}));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.inputValues<int64_t>(result.node(0), 1), (std::vector<int64_t>{0}));
}

TEST_F(FunctionTest, GraphsInBodies) {
  auto branch = [](const std::string &op) {
    GraphParts parts;
    parts.nodes = {node(op, {"p"}, {"x"})}; // a name of the caller's
    parts.outputs = {valueInfo("x")};
    return graph(parts);
  };
  FunctionParts f = simple(
      "F",
      {node("If", {"c"}, {"q"}, {graphAttr("then_branch", branch("Relu")), graphAttr("else_branch", branch("Neg"))})});
  f.inputs.push_back("c");
  GraphParts parts;
  parts.nodes = {call("F", {"x", "c"}, {"y"})};
  parts.inputs = {valueInfo("x"), valueInfo("c", BOOL, {})};
  parts.outputs = {valueInfo("y")};
  Proto proto = model(graph(parts)).message(8, opsetImport("local", 1)).message(25, function(f));
  Result result = read(proto);
  ASSERT_TRUE(result.ok()) << result.error;
  const Graph &then = *result.node(0).attribute("then_branch")->graph;
  EXPECT_EQ(then.nodes[0].inputs[0], "x");
  EXPECT_NE(then.nodes[0].outputs[0], "x");
  EXPECT_EQ(then.nodes[0].outputs[0], then.outputs[0].name);
}

TEST_F(FunctionTest, OutputsThatNeedACopy) {
  FunctionParts f = simple("F", {node("Relu", {"p"}, {"r"})});
  f.outputs = {"p", "r", "r"};
  Result result = read(withFunctions({call("F", {"x"}, {"a", "b", "y"})}, {f}));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.ops(), "Relu Identity Identity");
  EXPECT_EQ(result.node(1).inputs[0], "x");
  EXPECT_EQ(result.node(2).inputs[0], "b");
  EXPECT_EQ(result.node(2).outputs[0], "y");
}

TEST_F(FunctionTest, ArgumentsAndResults) {
  FunctionParts f = simple("F", {node("Clip", {"p", "low"}, {"q"})});
  f.inputs.push_back("low");
  Result result = read(withFunctions({call("F", {"x"}, {"y"})}, {f}));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.node(0).inputs[1], ""); // a missing argument is an absent input
  EXPECT_REFUSED(read(withFunctions({call("F", {"x", "x", "x"}, {"y"})}, {f})), "3 inputs; the function has 2");
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y", "z"})}, {f})), "2 outputs; the function has 1");
}

TEST_F(FunctionTest, BodiesSeeOnlyTheirInputs) {
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y"})}, {simple("F", {node("Add", {"p", "x"}, {"q"})})})),
                 "function 'F': node 'make_q' (Add): it reads 'x'");
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y"})}, {simple("F", {node("Relu", {"p"}, {"r"})})})), "'q'");
  FunctionParts foreign = simple("F", {node("Gelu", {"p"}, {"q"}, {}, "com.microsoft")});
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y"})}, {foreign})), "no opset import in the function");
}

TEST_F(FunctionTest, Recursion) {
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y"})}, {simple("F", {call("F", {"p"}, {"q"})})})),
                 "functions call themselves: 'F' -> 'F'");
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y"})},
                                    {simple("F", {call("G", {"p"}, {"q"})}), simple("G", {call("F", {"p"}, {"q"})})})),
                 "'F' -> 'G' -> 'F'");
}

TEST_F(FunctionTest, DepthAndExpansion) {
  auto chain = [&](int depth, int calls) {
    std::vector<FunctionParts> functions;
    for (int i = 0; i < depth; ++i) {
      std::vector<Proto> nodes;
      std::string from = "p";
      for (int j = 0; j < calls; ++j) {
        std::string to = j + 1 == calls ? "q" : "t" + std::to_string(j);
        nodes.push_back(i ? call("F" + std::to_string(i - 1), {from}, {to}) : node("Relu", {from}, {to}));
        from = to;
      }
      functions.push_back(simple("F" + std::to_string(i), nodes));
    }
    return withFunctions({call("F" + std::to_string(depth - 1), {"x"}, {"y"})}, functions);
  };
  EXPECT_READ(read(chain(100, 1)));
  EXPECT_REFUSED(read(chain(101, 1)), "limit of 100");
  EXPECT_REFUSED(read(chain(40, 2)), "limit of 1000000");
}

TEST_F(FunctionTest, LongNamesAreWorkToo) {
  // 20000 calls of a body whose names have 100 kB: 2 GB to hash.
  std::string longName(100000, 'n');
  FunctionParts f = simple("F", {node("Relu", {"p"}, {longName}), node("Neg", {longName}, {"q"})});
  std::vector<Proto> calls;
  for (int i = 0; i < 20000; ++i)
    calls.push_back(call("F", {"x"}, {i ? "v" + std::to_string(i) : "y"}));
  EXPECT_REFUSED(read(withFunctions(calls, {f})), "more memory than the limit");
}

TEST_F(FunctionTest, GraphsGivenByTheCaller) {
  GraphParts branch;
  branch.nodes = {node("Relu", {"x"}, {"b"})};
  branch.outputs = {valueInfo("b")};
  FunctionParts f =
      simple("F", {node("If", {"p"}, {"q"}, {refAttr("then_branch", "g", 5), refAttr("else_branch", "g", 5)})});
  f.attributes = {"g"};
  Result result = read(withFunctions({call("F", {"x"}, {"y"}, {graphAttr("g", graph(branch))})}, {f}));
  ASSERT_TRUE(result.ok()) << result.error;
  const Graph *then = result.node(0).attribute("then_branch")->graph;
  const Graph *other = result.node(0).attribute("else_branch")->graph;
  EXPECT_NE(then, other);
  EXPECT_EQ(then->nodes[0].inputs[0], "x"); // the caller's value
}

TEST_F(FunctionTest, TwoOfOneSignature) {
  FunctionParts f = simple("F", {node("Relu", {"p"}, {"q"})});
  EXPECT_REFUSED(read(withFunctions({call("F", {"x"}, {"y"})}, {f, f})),
                 "function 'F' of domain 'local' is there twice");
}

} // namespace
} // namespace farskip::onnx::reader::test
