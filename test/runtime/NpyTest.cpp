// Headers, byte orders and lengths of .npy files.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Npy/Npy.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace farskip::runtime;

namespace {

/// A file of format `version` with this dictionary and data.
std::string npy(const std::string &dictionary, const std::string &data, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  std::string text = dictionary + "\n";
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return file + text + data;
}

std::string dictionary(const std::string &descr, const std::string &shape, const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

Status parse(const std::string &file, NpyHeader &header) { return parseNpyHeader(file, file.size(), header); }

Status parse(const std::string &file) {
  NpyHeader header;
  return parse(file, header);
}

/// A folder of this test, removed at its end.
class Npy : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("farskip-npy-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return (folder / name).string(); }
  std::string write(const std::string &content) const {
    std::ofstream(path("a.npy"), std::ios::binary) << content;
    return path("a.npy");
  }
  size_t fileCount() const {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  }

  std::filesystem::path folder;
};

TEST_F(Npy, AcceptsEveryVersionShapeAndKeyOrder) {
  for (int version : {1, 2, 3})
    EXPECT_TRUE(parse(npy(dictionary("<f4", "(2, 3)"), std::string(24, 'x'), version)).ok()) << version;
  EXPECT_TRUE(parse(npy(dictionary("<f4", "()"), std::string(4, 'x'))).ok());
  EXPECT_TRUE(parse(npy(dictionary("<f4", "(0, 3)"), "")).ok());
  EXPECT_TRUE(parse(npy(dictionary("<f4", "(2, 3,)"), std::string(24, 'x'))).ok());
  EXPECT_TRUE(parse(npy("{'shape': (2,), 'fortran_order': True, 'descr': '<i8'}", std::string(16, 'x'))).ok());
  for (const char *bf16 : {"|V2", "<V2"})
    EXPECT_TRUE(parse(npy(dictionary(bf16, "(1,)"), "xx")).ok()) << bf16;
  NpyHeader native;
  ASSERT_TRUE(parse(npy(dictionary("=f4", "(1,)"), "xxxx"), native).ok());
  EXPECT_EQ(native.descr, "<f4");
}

TEST_F(Npy, RefusesWhatIsWrong) {
  const std::string wrong[] = {
      "",
      "not an npy file at all",
      npy(dictionary("<f4", "(2,)"), std::string(8, 'x'), 4),             // version
      npy(dictionary("<f4", "(2,)"), std::string(7, 'x')),                // a byte short
      npy(dictionary("<f4", "(2,)"), std::string(9, 'x')),                // a byte long
      npy(dictionary("|O", "(2,)"), std::string(8, 'x')),                 // objects
      npy(dictionary("<f4", "(-1,)"), ""),                                // negative
      npy(dictionary("<f4", "(9223372036854775807, 2)"), ""),             // overflow
      npy(dictionary("<f4", "(4611686018427387, 4611686018427387)"), ""), // product overflows
      npy(dictionary("<f4", "(2147483648, 2)"), "xxxx"),                  // large, no data
      npy(dictionary("<f4", "(1.000,)"), "xxxx"),                         // digit grouping
      npy(dictionary("<f4", "(1,)", "0"), "xxxx"),                        // no boolean
      npy("{'descr': '<f4', 'shape': (1,)}", "xxxx"),                     // a key is missing
      npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "xxxx"),
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': True}", "xxxx"),
      npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "xxxx"),
      npy(dictionary("<f4", "(1,)") + " more", "xxxx"),
      std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12) + "{}", // length of the header
  };
  for (const std::string &file : wrong) {
    Status status = parse(file);
    EXPECT_EQ(status.code, kInputError) << file;
    EXPECT_FALSE(status.message.empty());
  }
}

TEST_F(Npy, RefusesEveryCut) {
  std::string whole = npy(dictionary("<f4", "(2,)"), std::string(8, 'x'));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse(whole.substr(0, length)).ok()) << length;
}

TEST_F(Npy, TransposesFortranOrder) {
  std::string file = write(npy(dictionary("|i1", "(2, 3)", "True"), std::string("\x00\x03\x01\x04\x02\x05", 6)));
  NpyHeader header;
  ASSERT_TRUE(readNpyHeader(file, header).ok());
  char data[6];
  ASSERT_TRUE(readNpyData(file, header, data).ok());
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(data[i], i);
}

TEST_F(Npy, SwapsBigEndian) {
  std::string file = write(npy(dictionary(">i4", "(1,)"), std::string("\x01\x02\x03\x04", 4)));
  NpyHeader header;
  ASSERT_TRUE(readNpyHeader(file, header).ok());
  int32_t value;
  ASSERT_TRUE(readNpyData(file, header, &value).ok());
  EXPECT_EQ(value, 0x01020304);
}

TEST_F(Npy, NeedsARegularFile) {
  NpyHeader header;
  EXPECT_EQ(readNpyHeader(path("missing.npy"), header).code, kIo);
  EXPECT_EQ(readNpyHeader(folder.string(), header).code, kIo);
  EXPECT_EQ(readNpyHeader("/dev/null", header).code, kIo);
}

TEST_F(Npy, WritesWhatItReads) {
  for (const std::vector<int64_t> &shape : std::vector<std::vector<int64_t>>{{}, {0}, {5}, {2, 0, 3}, {1, 2, 3}}) {
    std::string text = npyHeader("<i8", shape);
    EXPECT_EQ(text.size() % 64, 0u);
    int64_t elements = 1;
    for (int64_t extent : shape)
      elements *= extent;
    NpyHeader header;
    ASSERT_TRUE(parse(text + std::string(elements * 8, 'x'), header).ok());
    EXPECT_EQ(header.shape, shape);
  }
}

TEST_F(Npy, OutputsAppearOnlyWhenCommitted) {
  {
    OutputFiles files;
    ASSERT_TRUE(files.add(path("out.npy"), npyHeader("|i1", {2}), "ab", 2).ok());
    EXPECT_FALSE(std::filesystem::exists(path("out.npy")));
  }
  EXPECT_EQ(fileCount(), 0u) << "a temporary is left";
  OutputFiles files;
  ASSERT_TRUE(files.add(path("out.npy"), npyHeader("|i1", {2}), "ab", 2).ok());
  ASSERT_TRUE(files.commit().ok());
  EXPECT_TRUE(std::filesystem::exists(path("out.npy")));
  EXPECT_EQ(fileCount(), 1u);
  EXPECT_EQ(OutputFiles().add(path("no/folder.npy"), "", "", 0).code, kIo);
}

} // namespace
