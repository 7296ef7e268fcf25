// A folder for model files, and reading them with the outcome in one place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Import/Reader.h"
#include "test/compiler/Import/ProtoWriter.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace farskip::onnx::reader::test {

struct Result {
  std::optional<Model> model;
  std::string error; ///< empty when there is a model
  std::vector<std::string> warnings;

  bool ok() const { return model.has_value(); }
  const Node &node(size_t index) const { return model->graph.nodes[index]; }
  /// The operators of the main graph, with blanks between.
  std::string ops() const {
    std::string text;
    for (const Node &node : model->graph.nodes)
      text += (text.empty() ? "" : " ") + node.opType.str();
    return text;
  }
  const Tensor *initializer(llvm::StringRef name) const {
    for (const Tensor &tensor : model->graph.initializers)
      if (tensor.name == name)
        return &tensor;
    return nullptr;
  }
  template <typename T> std::vector<T> values(const Tensor *tensor) const {
    std::vector<T> out;
    if (!tensor)
      return out;
    llvm::ArrayRef<char> bytes = model->bytes(*tensor);
    out.resize(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
  template <typename T> std::vector<T> inputValues(const Node &node, size_t index) const {
    return index < node.inputs.size() ? values<T>(initializer(node.inputs[index])) : std::vector<T>();
  }
};

class ReaderTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "farskip-reader-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
    folder = root / "model";
    std::filesystem::create_directory(folder);
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  std::filesystem::path write(const std::filesystem::path &name, const std::string &bytes) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  Result readFile(const std::filesystem::path &path, const ImportOptions &options = {}) {
    Result result;
    auto model = readModel(path.string(), options,
                           [&](const Diagnostic &diagnostic) { result.warnings.push_back(diagnostic.message); });
    if (model)
      result.model.emplace(std::move(*model));
    else
      result.error = llvm::toString(model.takeError());
    return result;
  }
  Result readBytes(const std::string &bytes, const ImportOptions &options = {}) {
    return readFile(write("m.onnx", bytes), options);
  }
  Result read(const Proto &model, const ImportOptions &options = {}) { return readBytes(model.str(), options); }

  /// y = Add(x, w) with w as the initializer.
  static Proto addModel(const Proto &initializer) {
    return model(graph({.nodes = {node("Add", {"x", "w"}, {"y"})},
                        .inputs = {valueInfo("x")},
                        .outputs = {valueInfo("y")},
                        .initializers = {initializer},
                        .sparseInitializers = {},
                        .valueInfos = {}}));
  }
  /// A graph y = nodes(x), x a float[3].
  static Proto simpleGraph(const std::vector<Proto> &nodes) {
    return graph({.nodes = nodes,
                  .inputs = {valueInfo("x")},
                  .outputs = {valueInfo("y")},
                  .initializers = {},
                  .sparseInitializers = {},
                  .valueInfos = {}});
  }
  static Proto simpleModel(const std::vector<Proto> &nodes, uint64_t opset = 17) {
    return model(simpleGraph(nodes), opset);
  }

  std::filesystem::path root, folder;
};

#define EXPECT_REFUSED(result, text)                                                                                   \
  do {                                                                                                                 \
    const Result &outcome = (result);                                                                                  \
    EXPECT_FALSE(outcome.ok());                                                                                        \
    EXPECT_NE(outcome.error.find(text), std::string::npos) << outcome.error;                                           \
  } while (false)
#define EXPECT_READ(result) EXPECT_TRUE((result).ok()) << (result).error

} // namespace farskip::onnx::reader::test
