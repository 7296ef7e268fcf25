// External data: which files, which bytes.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/ExternalData.h"
#include "test/compiler/Import/ReaderFixture.h"
#include <sys/stat.h>

namespace farskip::onnx::reader::test {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;
namespace fs = std::filesystem;

class ExternalDataTest : public ReaderTest {
protected:
  void SetUp() override {
    ReaderTest::SetUp();
    write("w.bin", bytes);
    std::ofstream(root / "secret.bin", std::ios::binary) << bytes;
  }
  Result readEntries(const Entries &entries, const ImportOptions &options = {}) {
    return read(addModel(externalTensor("w", FLOAT, {3}, entries)), options);
  }
  Result readLocation(const std::string &location, const ImportOptions &options = {}) {
    return readEntries({{"location", location}, {"offset", "0"}, {"length", "12"}}, options);
  }
  const std::string bytes = rawBytes<float>({1, 2, 3});
};

TEST_F(ExternalDataTest, DecimalNumbers) {
  EXPECT_EQ(parseDecimal("0"), 0u);
  EXPECT_EQ(parseDecimal("9223372036854775807"), uint64_t{INT64_MAX});
  for (const char *bad : {"", "-1", " 1", "1 ", "+1", "010", "0x10", "1e3", "abc", "9223372036854775808",
                          "18446744073709551615", "99999999999999999999"})
    EXPECT_FALSE(parseDecimal(bad)) << bad;
}

TEST_F(ExternalDataTest, GoodData) {
  Result result = readLocation("w.bin");
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.values<float>(result.initializer("w")), (std::vector<float>{1, 2, 3}));
  EXPECT_READ(readEntries({{"location", "w.bin"}}));
  EXPECT_READ(readLocation("./w.bin"));
  write("sub/v.bin", bytes);
  EXPECT_READ(readLocation("sub/v.bin"));
}

TEST_F(ExternalDataTest, LocationsThatLeave) {
  for (const char *location : {"../secret.bin", "sub/../../secret.bin", ".."})
    EXPECT_REFUSED(readLocation(location), "holds '..'");
  EXPECT_REFUSED(readLocation("/etc/passwd"), "is absolute");
  fs::create_symlink("../secret.bin", folder / "link.bin");
  EXPECT_REFUSED(readLocation("link.bin"), "symbolic link");
  fs::create_directory_symlink("..", folder / "d");
  EXPECT_REFUSED(readLocation("d/secret.bin"), "symbolic link");
}

TEST_F(ExternalDataTest, LocationsThatAreNoFiles) {
  EXPECT_REFUSED(readLocation(""), "is empty");
  EXPECT_REFUSED(readLocation("."), "is a folder");
  EXPECT_REFUSED(readLocation(std::string("w.bin\0x", 7)), "NUL");
  EXPECT_REFUSED(readLocation(std::string(5000, 'a')), "5000 characters");
  EXPECT_REFUSED(readLocation("none.bin"), "cannot be opened");
  EXPECT_REFUSED(readLocation("w.bin/"), "cannot be opened");
  fs::create_directory(folder / "sub");
  EXPECT_REFUSED(readLocation("sub"), "is a folder");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_REFUSED(readLocation("fifo"), "not a regular file");
}

TEST_F(ExternalDataTest, EntriesAreChecked) {
  EXPECT_REFUSED(readEntries({}), "no location");
  EXPECT_REFUSED(readEntries({{"location", "w.bin"}, {"location", "w.bin"}}), "twice");
  EXPECT_REFUSED(readEntries({{"location", "w.bin"}, {"color", "red"}}), "unknown key 'color'");
  EXPECT_REFUSED(readEntries({{"location", "w.bin"}, {"offset", "0x0"}}), "offset '0x0'");
  EXPECT_REFUSED(readEntries({{"location", "w.bin"}, {"length", "8"}}), "need 12");
  EXPECT_REFUSED(readEntries({{"location", "w.bin"}, {"offset", "4"}}), "too short: offset 4 + length 12");
  EXPECT_REFUSED(readEntries({{"location", "w.bin"}, {"offset", "9223372036854775804"}}), "too short");
  EXPECT_REFUSED(read(addModel(tensor("w", FLOAT, {3}, bytes).varint(14, 1))), "raw_data");
  EXPECT_REFUSED(read(addModel(tensorHead("w", FLOAT, {3}).varint(14, 7))), "data_location is 7");
  EXPECT_REFUSED(read(addModel(externalTensor("w", STRING, {3}, {{"location", "w.bin"}}))), "string");
}

TEST_F(ExternalDataTest, PointerInPlaceOfData) {
  write("w.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n");
  EXPECT_REFUSED(readEntries({{"location", "w.bin"}, {"offset", "4096"}}), "git lfs pull");
}

TEST_F(ExternalDataTest, OffsetsBeyondFourGigabytes) {
  fs::resize_file(folder / "w.bin", uintmax_t{5} << 30);
  EXPECT_READ(readEntries({{"location", "w.bin"}, {"offset", "4831838208"}, {"length", "12"}}));
}

TEST_F(ExternalDataTest, OneFileIsMappedOnce) {
  fs::create_hard_link(folder / "w.bin", folder / "v.bin");
  GraphParts parts;
  for (int i = 0; i < 100; ++i) {
    const char *location = i % 2 ? "w.bin" : "v.bin";
    parts.initializers.push_back(externalTensor("w" + std::to_string(i), FLOAT, {3}, {{"location", location}}));
  }
  Result result = read(model(graph(parts)));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.model->files.size(), 2u); // the model and the data
}

TEST_F(ExternalDataTest, HardLinks) {
  fs::create_hard_link(folder / "w.bin", folder / "v.bin");
  EXPECT_READ(readLocation("v.bin"));
  ImportOptions strict;
  strict.strictExternalData = true;
  EXPECT_REFUSED(readLocation("v.bin", strict), "2 hard links");
}

TEST_F(ExternalDataTest, AllowedFolders) {
  ImportOptions options;
  fs::create_symlink("../secret.bin", folder / "link.bin");
  options.allowedExternalDirs = {root.string()};
  EXPECT_READ(readLocation("link.bin", options));
  EXPECT_READ(readLocation("secret.bin", options));
  EXPECT_REFUSED(readLocation("../secret.bin", options), "holds '..'");
  options.allowedExternalDirs = {(root / "none").string()};
  EXPECT_REFUSED(readLocation("w.bin", options), "cannot open the folder");
}

TEST_F(ExternalDataTest, LinkedModels) {
  // The data lie beside the real file.
  Proto proto = addModel(externalTensor("w", FLOAT, {3}, {{"location", "w.bin"}}));
  write("m.onnx", proto.str());
  fs::create_symlink("model/m.onnx", root / "linked.onnx");
  EXPECT_READ(readFile(root / "linked.onnx"));
  // A model cache: both are links into a folder of blobs.
  fs::create_directories(root / "snapshots/1");
  fs::create_directories(root / "blobs");
  fs::copy_file(folder / "m.onnx", root / "blobs/aa");
  fs::copy_file(folder / "w.bin", root / "blobs/bb");
  fs::create_symlink("../../blobs/aa", root / "snapshots/1/model.onnx");
  fs::create_symlink("../../blobs/bb", root / "snapshots/1/w.bin");
  EXPECT_READ(readFile(root / "snapshots/1/model.onnx"));
}

} // namespace
} // namespace farskip::onnx::reader::test
