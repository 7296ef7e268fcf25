// Versions, declared values, attributes.
// SPDX-License-Identifier: Apache-2.0
#include "test/compiler/Import/ReaderFixture.h"

namespace farskip::onnx::reader::test {
namespace {

class CheckTest : public ReaderTest {
protected:
  static Proto relu() { return simpleGraph({node("Relu", {"x"}, {"y"})}); }
  static Proto withVersions(uint64_t ir, const std::vector<Proto> &imports) {
    Proto proto = Proto().varint(1, ir).message(7, relu());
    for (const Proto &import : imports)
      proto.message(8, import);
    return proto;
  }
  Result readAttributes(const std::string &op, const std::vector<Proto> &attributes) {
    return read(simpleModel({node(op, {"x"}, {"y"}, attributes)}));
  }
};

TEST_F(CheckTest, Versions) {
  EXPECT_READ(read(withVersions(8, {opsetImport("", 17)})));
  EXPECT_READ(read(withVersions(8, {opsetImport("ai.onnx", 17), opsetImport("com.microsoft", 1)})));
  for (uint64_t ir : {uint64_t{0}, uint64_t{2}, uint64_t{999}, uint64_t{1} << 62})
    EXPECT_REFUSED(read(withVersions(ir, {opsetImport("", 17)})), "supported: 3 to 14");
  EXPECT_REFUSED(read(withVersions(8, {})), "no opset import");
  for (int64_t opset : {int64_t{0}, int64_t{-1}, int64_t{29}, INT64_MAX})
    EXPECT_REFUSED(read(withVersions(8, {opsetImport("", static_cast<uint64_t>(opset))})), "supported: 7 to 28");
  EXPECT_REFUSED(read(withVersions(8, {opsetImport("", 17), opsetImport("ai.onnx", 11)})), "two versions");
  EXPECT_REFUSED(read(withVersions(8, {opsetImport("com.microsoft", 2), opsetImport("", 17)})), "supported: 1");
  EXPECT_REFUSED(read(withVersions(8, {opsetImport("com.microsoft", 1)})), "no opset import");
}

TEST_F(CheckTest, OpsetsBeforeSevenWhereNothingChanged) {
  EXPECT_READ(read(simpleModel({node("Not", {"x"}, {"y"})}, 1)));
  EXPECT_REFUSED(read(simpleModel({node("Add", {"x", "x"}, {"y"})}, 6)), "another form");
}

TEST_F(CheckTest, DeclaredValues) {
  auto readInputs = [&](const std::vector<Proto> &inputs) {
    return read(model(graph({.nodes = {node("Relu", {"x"}, {"y"})},
                             .inputs = inputs,
                             .outputs = {valueInfo("y")},
                             .initializers = {},
                             .sparseInitializers = {},
                             .valueInfos = {}})));
  };
  EXPECT_REFUSED(readInputs({valueInfo("x"), valueInfo("x")}), "graph input 'x' is there twice");
  EXPECT_REFUSED(readInputs({valueInfo("")}), "no name");
  EXPECT_REFUSED(readInputs({Proto().bytes(1, "x")}), "has no type");
  EXPECT_REFUSED(readInputs({valueInfo("x", 99)}), "elem_type is 99");
  EXPECT_REFUSED(readInputs({valueInfo("x", FLOAT, {-1, 2}), valueInfo("z", FLOAT, Dims(65, 1))}), "limit of 64");

  Proto minusOne = Proto().varint(1, UINT64_MAX), symbol = Proto().bytes(2, "N"), empty = Proto().bytes(2, "");
  Proto shape = Proto().message(1, minusOne).message(1, symbol).message(1, empty).message(1, Proto().varint(1, 4));
  Proto type = Proto().message(1, Proto().varint(1, FLOAT).message(2, shape));
  Result result = readInputs({Proto().message(2, type).bytes(1, "x")});
  ASSERT_TRUE(result.ok()) << result.error;
  llvm::ArrayRef<Dim> dims = result.model->graph.inputs[0].type.dims;
  ASSERT_EQ(dims.size(), 4u);
  EXPECT_EQ(dims[0].kind, Dim::Unknown);
  EXPECT_EQ(dims[1].symbol, "N");
  EXPECT_EQ(dims[2].kind, Dim::Unknown);
  EXPECT_EQ(dims[3].size, 4);
}

TEST_F(CheckTest, InputsWithInitializersAreConstants) {
  auto withInput = [&](int type, uint64_t ir) {
    Proto main = graph({.nodes = {node("Add", {"x", "w"}, {"y"})},
                        .inputs = {valueInfo("x"), valueInfo("w", type)},
                        .outputs = {valueInfo("y")},
                        .initializers = {tensor("w", FLOAT, {3}, rawBytes<float>({1, 2, 3}))},
                        .sparseInitializers = {},
                        .valueInfos = {}});
    return Proto().varint(1, ir).message(8, opsetImport("", 17)).message(7, main);
  };
  Result old = read(withInput(FLOAT, 3));
  ASSERT_TRUE(old.ok()) << old.error;
  EXPECT_TRUE(old.warnings.empty());
  EXPECT_EQ(old.model->graph.inputs.size(), 1u);
  Result later = read(withInput(FLOAT, 8));
  ASSERT_TRUE(later.ok()) << later.error;
  ASSERT_EQ(later.warnings.size(), 1u);
  EXPECT_NE(later.warnings[0].find("'w'"), std::string::npos);
  EXPECT_REFUSED(read(withInput(INT64, 8)), "'w'");
}

TEST_F(CheckTest, DuplicateInitializers) {
  Proto w = tensor("w", FLOAT, {3}, rawBytes<float>({1, 2, 3}));
  EXPECT_REFUSED(read(model(graph({.nodes = {},
                                   .inputs = {},
                                   .outputs = {},
                                   .initializers = {w, w},
                                   .sparseInitializers = {},
                                   .valueInfos = {}}))),
                 "initializer 'w' is there twice");
}

TEST_F(CheckTest, AttributeTagsAndPayloads) {
  Proto untagged = Proto().bytes(1, "axis").varint(3, 0);
  EXPECT_READ(readAttributes("Softmax", {untagged}));
  Proto zero = Proto().bytes(1, "axis").varint(20, 2); // writers may leave a zero out
  EXPECT_READ(readAttributes("Softmax", {zero}));
  EXPECT_REFUSED(readAttributes("Softmax", {Proto().bytes(1, "axis")}), "no type");
  EXPECT_REFUSED(readAttributes("Softmax", {Proto().bytes(1, "axis").varint(3, 0).varint(20, 1)}),
                 "is declared FLOAT but holds INT");
  EXPECT_REFUSED(readAttributes("Softmax", {Proto().bytes(1, "axis").varint(3, 0).varint(20, 15)}), "type is 15");
  EXPECT_REFUSED(readAttributes("Softmax", {Proto().bytes(1, "axis").varint(20, 4)}), "holds nothing");
  EXPECT_REFUSED(readAttributes("Softmax", {intAttr("axis", 0), intAttr("axis", 0)}), "'axis' is there twice");
  EXPECT_REFUSED(readAttributes("Softmax", {refAttr("axis", "a", 2)}), "ref_attr_name");
  EXPECT_REFUSED(readAttributes("Softmax", {Proto().varint(3, 0).varint(20, 2)}), "no name");
  EXPECT_REFUSED(readAttributes("", {}), "op_type is empty");
}

TEST_F(CheckTest, Limits) {
  ImportOptions options;
  options.maxNodes = 3;
  std::vector<Proto> nodes;
  for (int i = 0; i < 4; ++i)
    nodes.push_back(node("Relu", {"x"}, {i ? "r" + std::to_string(i) : "y"}));
  EXPECT_REFUSED(read(simpleModel(nodes), options), "limit of 3");
  options = {};
  options.maxStructureBytes = 100;
  EXPECT_REFUSED(read(simpleModel(nodes), options), "limit of 100 bytes");
}

TEST_F(CheckTest, ManyAttributesAndImports) {
  std::vector<Proto> attributes;
  for (int i = 0; i < 257; ++i)
    attributes.push_back(intAttr("a" + std::to_string(i), i));
  EXPECT_REFUSED(readAttributes("Relu", attributes), "limit of 256");
  attributes.pop_back();
  EXPECT_READ(readAttributes("Relu", attributes));
  attributes.back() = attributes.front();
  EXPECT_REFUSED(readAttributes("Relu", attributes), "'a0' is there twice");

  Proto proto = simpleModel({node("Relu", {"x"}, {"y"})});
  for (int i = 0; i < 100000; ++i)
    proto.message(8, opsetImport("d" + std::to_string(i), 1));
  EXPECT_READ(read(proto));
}

TEST_F(CheckTest, GraphNesting) {
  auto nested = [&](int depth) {
    Proto inner = graph({.nodes = {node("Relu", {"x"}, {"i0"})},
                         .inputs = {},
                         .outputs = {valueInfo("i0")},
                         .initializers = {},
                         .sparseInitializers = {},
                         .valueInfos = {}});
    for (int i = 1; i < depth; ++i) {
      std::string name = i + 1 == depth ? "y" : "i" + std::to_string(i);
      GraphParts parts;
      parts.nodes = {node("If", {"c"}, {name}, {graphAttr("then_branch", inner), graphAttr("else_branch", inner)})};
      parts.outputs = {valueInfo(name)};
      if (i + 1 == depth)
        parts.inputs = {valueInfo("x"), valueInfo("c", BOOL, {})};
      inner = graph(parts);
    }
    return model(inner);
  };
  EXPECT_READ(read(nested(10)));
  ImportOptions options;
  options.maxGraphNesting = 4;
  EXPECT_READ(read(nested(4), options));
  EXPECT_REFUSED(read(nested(5), options), "limit of 4");
}

TEST_F(CheckTest, ControlFlowGraphsFitTheirNode) {
  GraphParts branch;
  branch.nodes = {node("Relu", {"x"}, {"b"})};
  branch.outputs = {valueInfo("b")};
  Proto good = graph(branch);
  branch.outputs.push_back(valueInfo("b"));
  Proto two = graph(branch);
  auto readIf = [&](const std::vector<Proto> &attributes) {
    return read(model(graph({.nodes = {node("If", {"c"}, {"y"}, attributes)},
                             .inputs = {valueInfo("x"), valueInfo("c", BOOL, {})},
                             .outputs = {valueInfo("y")},
                             .initializers = {},
                             .sparseInitializers = {},
                             .valueInfos = {}})));
  };
  EXPECT_READ(readIf({graphAttr("then_branch", good), graphAttr("else_branch", good)}));
  EXPECT_REFUSED(readIf({graphAttr("then_branch", good)}), "no graph 'else_branch'");
  EXPECT_REFUSED(readIf({graphAttr("then_branch", good), graphAttr("else_branch", two)}), "2 outputs");

  GraphParts body;
  body.nodes = {node("Identity", {"cond"}, {"again"}), node("Relu", {"v"}, {"next"})};
  body.inputs = {valueInfo("i", INT64, {}), valueInfo("cond", BOOL, {})};
  body.outputs = {valueInfo("again", BOOL, {}), valueInfo("next")};
  auto readLoop = [&](const Proto &graph) {
    return read(simpleModel({node("Loop", {"", "", "x"}, {"y"}, {graphAttr("body", graph)})}));
  };
  body.nodes[1] = node("Relu", {"x"}, {"next"});
  EXPECT_REFUSED(readLoop(graph(body)), "has 2 inputs; the node asks for 3");
  body.inputs.push_back(valueInfo("v"));
  EXPECT_READ(readLoop(graph(body)));
}

} // namespace
} // namespace farskip::onnx::reader::test
