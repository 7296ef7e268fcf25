// What is written for a module: opsets, names, operands, attributes and constants, read back by the importer.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Export/Export.h"
#include "compiler/Import/Reader.h"
#include "dialects/Onnx/OnnxOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace mlir;
namespace reader = farskip::onnx::reader;

namespace farskip {
namespace {

class ExportTest : public ::testing::Test {
protected:
  ExportTest() { context.loadDialect<func::FuncDialect, onnx::OnnxDialect>(); }

  /// The bytes, or "error: …".
  std::string write(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    reader::ModelFiles files;
    auto proto = exportModel(*module, files);
    if (!proto)
      return "error: " + llvm::toString(proto.takeError());
    std::string bytes;
    llvm::cantFail(proto->write([&](llvm::StringRef piece) {
      bytes += piece;
      return llvm::Error::success();
    }));
    EXPECT_EQ(bytes.size(), proto->size());
    return bytes;
  }

  void writeAndRead(const std::string &text) {
    std::string bytes = write(text);
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("farskip-export", "onnx", path));
    {
      std::error_code error;
      llvm::raw_fd_ostream(path, error) << bytes;
      ASSERT_FALSE(error);
    }
    auto read = reader::readModel(path.str().str(), {}, [](const reader::Diagnostic &) {});
    llvm::sys::fs::remove(path);
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    model.emplace(std::move(*read));
  }

  int64_t opsetOf(const std::string &body, const std::string &type = "tensor<4xf32>") {
    writeAndRead("func.func @main(%x: " + type + ") -> " + type + " {\n" + body + "\nreturn %y : " + type + "}");
    return model ? model->opsetImports[0].version : 0;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<reader::Model> model;
};

TEST_F(ExportTest, DeclaresTheLowestOpset) {
  EXPECT_EQ(opsetOf("%y = onnx.Exp %x : (tensor<4xf32>) -> tensor<4xf32>"), 13);
  EXPECT_EQ(model->irVersion, 7);
  EXPECT_EQ(opsetOf("%y = onnx.Gelu %x : (tensor<4xf32>) -> tensor<4xf32>"), 20);
  EXPECT_EQ(opsetOf("%y = onnx.Swish %x : (tensor<4xf32>) -> tensor<4xf32>"), 24);
  EXPECT_EQ(model->irVersion, 10);
  EXPECT_EQ(opsetOf("%y = onnx.ReduceMax %x {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>"), 13);
}

TEST_F(ExportTest, OpsetDependsOnElementTypes) {
  EXPECT_EQ(opsetOf("%y = onnx.Add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"), 13);
  EXPECT_EQ(opsetOf("%y = onnx.Add %x, %x : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>", "tensor<4xi8>"), 14);
  EXPECT_EQ(opsetOf("%y = onnx.Cos %x : (tensor<4xbf16>) -> tensor<4xbf16>", "tensor<4xbf16>"), 22);
}

TEST_F(ExportTest, LeavesDefaultsOut) {
  EXPECT_EQ(opsetOf("%y = onnx.Cast %x {to = 1 : i64, saturate = 1 : i64, round_mode = \"up\"} : (tensor<4xf32>) -> "
                    "tensor<4xf32>"),
            13);
  EXPECT_EQ(model->graph.nodes[0].attributes.size(), 1u);
  EXPECT_EQ(opsetOf("%y = onnx.Cast %x {to = 1 : i64, saturate = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>"), 19);
}

TEST_F(ExportTest, MakesNamesUnique) {
  writeAndRead(R"(func.func @main(%x: tensor<?xf32> {onnx.name = "a", onnx.dims = ["n"]})
      -> (tensor<?xf32> {onnx.name = "b", onnx.dims = ["n"]}, tensor<?xf32> {onnx.name = "c", onnx.dims = [""]},
          tensor<?xf32> {onnx.name = "d", onnx.dims = [""]}) {
    %0 = onnx.Exp %x {onnx.node = "n", onnx.outputs = ["b"]} : (tensor<?xf32>) -> tensor<?xf32>
    %1 = onnx.Neg %0 {onnx.node = "n", onnx.outputs = ["b"]} : (tensor<?xf32>) -> tensor<?xf32>
    return %1, %1, %x : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
  })");
  ASSERT_TRUE(model);
  const reader::Graph &graph = model->graph;
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[0].outputs[0], "b_1");
  EXPECT_EQ(graph.nodes[1].inputs[0], "b_1");
  EXPECT_EQ(graph.nodes[1].outputs[0], "b");
  EXPECT_EQ(graph.nodes[1].name, "n_1");
  EXPECT_EQ(graph.nodes[2].opType, "Identity");
  EXPECT_EQ(graph.nodes[2].inputs[0], "b");
  EXPECT_EQ(graph.nodes[3].inputs[0], "a");
  EXPECT_EQ(graph.outputs[2].name, "d");
  EXPECT_EQ(graph.inputs[0].type.dims[0].symbol, "n");
  EXPECT_EQ(graph.outputs[1].type.dims[0].kind, reader::Dim::Unknown);
}

TEST_F(ExportTest, KeepsPlacesOfAbsentInputs) {
  writeAndRead(R"(func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> tensor<4xf32> {
    %c = onnx.Constant {value = dense<1.5> : tensor<f32>, onnx.outputs = ["max"]} : () -> tensor<f32>
    %y = onnx.Clip %x, %c {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  })");
  ASSERT_TRUE(model);
  llvm::ArrayRef<llvm::StringRef> inputs = model->graph.nodes[0].inputs;
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[1], "");
  EXPECT_EQ(inputs[2], "max");
  ASSERT_EQ(model->graph.initializers.size(), 1u);
  EXPECT_EQ(model->bytes(model->graph.initializers[0]), llvm::ArrayRef("\0\0\xc0\x3f", 4));
}

TEST_F(ExportTest, GivesBoolsAByteEach) {
  writeAndRead(R"(func.func @main() -> tensor<3xi1> {
    %c = onnx.Constant {value = dense<[true, false, true]> : tensor<3xi1>} : () -> tensor<3xi1>
    %d = onnx.Constant {value = dense<true> : tensor<3xi1>} : () -> tensor<3xi1>
    %y = onnx.And %c, %d : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    return %y : tensor<3xi1>
  })");
  ASSERT_TRUE(model);
  ASSERT_EQ(model->graph.initializers.size(), 2u);
  EXPECT_EQ(model->bytes(model->graph.initializers[0]), llvm::ArrayRef("\1\0\1", 3));
  EXPECT_EQ(model->bytes(model->graph.initializers[1]), llvm::ArrayRef("\1\1\1", 3));
}

TEST_F(ExportTest, WritesMicrosoftOperatorsAndMetadata) {
  writeAndRead(R"(module attributes {onnx.metadata = {a = "1", farskip.layers = "0"}, farskip.layers = "0-2"} {
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = onnx.ms.QuickGelu %x {alpha = 2.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
  })");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->graph.nodes[0].opType, "QuickGelu");
  EXPECT_EQ(model->graph.nodes[0].domain, "com.microsoft");
  EXPECT_EQ(model->graph.nodes[0].attribute("alpha")->f, 2.0f);
  ASSERT_EQ(model->metadata.size(), 2u);
  EXPECT_EQ(model->metadata[1].key, "farskip.layers");
  EXPECT_EQ(model->metadata[1].value, "0-2");
}

TEST_F(ExportTest, RefusesWhatItCannotWrite) {
  EXPECT_EQ(write(R"(func.func @main(%x: tensor<bf16>) -> tensor<?xbf16> {
    %y = onnx.Range %x, %x, %x {onnx.node = "r"} : (tensor<bf16>, tensor<bf16>, tensor<bf16>) -> tensor<?xbf16>
    return %y : tensor<?xbf16>
  })"),
            "error: node 'r' (Range) needs opset 27 for its element types; models are written in at most 25");
  EXPECT_EQ(write("func.func @other() { return }"), "error: there is no function 'main' to write");
}

TEST(WireWriterTest, ReferencesStandWhereTheyWereAdded) {
  std::string large = "large";
  WireWriter inner, outer;
  inner.varint(1, 300);
  inner.reference(2, large);
  inner.fixed32(3, 1.0f);
  outer.bytes(1, "x");
  outer.message(2, inner);
  outer.reference(3, large);
  std::string bytes;
  llvm::cantFail(outer.write([&](llvm::StringRef piece) {
    bytes += piece;
    return llvm::Error::success();
  }));
  std::string expected("\x0a\x01x\x12\x0f\x08\xac\x02\x12\x05large\x1d\0\0\x80\x3f\x1a\x05large", 27);
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(outer.size(), 27u);
}

} // namespace
} // namespace farskip
