// Bytes: the wire format, file kinds, cuts and corruption.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/WireFormat.h"
#include "test/compiler/Import/ReaderFixture.h"

namespace farskip::onnx::reader::test {
namespace {

class WireTest : public ReaderTest {
protected:
  static Proto good() { return addModel(tensor("w", FLOAT, {3}, rawBytes<float>({1, 2, 3}))); }
};

TEST_F(WireTest, VarintLimits) {
  auto parse = [](std::string bytes, uint64_t &value) {
    const char *at = bytes.data();
    return FieldReader::readVarint(at, bytes.data() + bytes.size(), value) && at == bytes.data() + bytes.size();
  };
  uint64_t value = 0;
  EXPECT_TRUE(parse(Proto().raw(UINT64_MAX).str(), value));
  EXPECT_EQ(value, UINT64_MAX);
  EXPECT_TRUE(parse(std::string("\x85\x80\x80\x00", 4), value)); // redundant zero bytes are legal
  EXPECT_EQ(value, 5u);
  EXPECT_FALSE(parse(std::string(10, '\x80') + '\x00', value)); // 11 bytes
  EXPECT_FALSE(parse(std::string(9, '\xff') + '\x02', value));  // more than 64 bits
  EXPECT_FALSE(parse("\x80", value));
}

TEST_F(WireTest, UnknownFieldsAndGroupsAreSkipped) {
  Proto proto = good();
  proto.bytes(1000, "later").varint(1001, 7);
  std::string group = Proto().raw(50 << 3 | 3).varint(1, 2).raw(50 << 3 | 4).str();
  EXPECT_READ(readBytes(proto.str() + group));
}

TEST_F(WireTest, MalformedBytes) {
  std::string bytes = good().str();
  EXPECT_REFUSED(readBytes(bytes + Proto().raw(50 << 3 | 3).str()), "group that is not closed");
  EXPECT_REFUSED(readBytes(bytes + Proto().raw(50 << 3 | 4).str()), "unknown wire type");
  EXPECT_REFUSED(readBytes(bytes + Proto().raw(50 << 3 | 3).raw(51 << 3 | 4).str()), "another one's end");
  EXPECT_REFUSED(readBytes(bytes + std::string("\x02\x01")), "field number 0");
  EXPECT_REFUSED(readBytes(bytes + Proto().raw(50 << 3 | 2).raw(uint64_t{1} << 63).str()), "cut short");
  std::string deep;
  for (int i = 0; i < 10000; ++i)
    deep += Proto().raw(50 << 3 | 3).str();
  EXPECT_REFUSED(readBytes(bytes + deep), "100 deep");
}

TEST_F(WireTest, FilesThatAreNoModels) {
  EXPECT_REFUSED(readBytes(""), "is empty");
  EXPECT_REFUSED(readBytes("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"), "git lfs pull");
  EXPECT_REFUSED(readBytes("{\"ir_version\": 8}"), "it is text");
  EXPECT_REFUSED(readBytes("\x7f"
                           "ELF\x02\x01\x01"),
                 "ELF");
  EXPECT_REFUSED(readBytes("\x1f\x8b\x08\x01"), "gzip");
  EXPECT_REFUSED(readBytes(Proto().varint(1, 8).message(8, opsetImport("", 17)).str()), "no graph");
  EXPECT_REFUSED(readFile(folder), "is a folder");
  EXPECT_REFUSED(readFile(folder / "none.onnx"), "cannot be opened");
}

TEST_F(WireTest, FifoDoesNotBlock) {
  std::filesystem::path fifo = folder / "fifo.onnx";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_REFUSED(readFile(fifo), "not a regular file");
}

TEST_F(WireTest, FileOverTheLimit) {
  std::filesystem::path path = write("m.onnx", "x");
  std::filesystem::resize_file(path, (uintmax_t{1} << 31));
  EXPECT_REFUSED(readFile(path), "2147483647");
}

TEST_F(WireTest, RepeatedGraphIsRefused) {
  Proto proto = good();
  proto.message(7, graph({}));
  EXPECT_REFUSED(read(proto), "two graphs");
}

/// A model that has a bit of everything.
Proto richModel() {
  Proto branch = graph({.nodes = {node("Identity", {"h"}, {"b"})},
                        .inputs = {},
                        .outputs = {valueInfo("b")},
                        .initializers = {tensor("unused", INT64, {1}, rawBytes<int64_t>({4}))},
                        .sparseInitializers = {},
                        .valueInfos = {}});
  Proto sparse = Proto()
                     .message(1, tensor("s", FLOAT, {1}, rawBytes<float>({2})))
                     .message(2, tensor("i", INT64, {1}, rawBytes<int64_t>({1})))
                     .varint(3, 3);
  Proto main =
      graph({.nodes = {node("F", {"x"}, {"h"}, {intAttr("a", -1)}, "local"),
                       node("If", {"c"}, {"t"}, {graphAttr("then_branch", branch), graphAttr("else_branch", branch)}),
                       node("ReduceSum", {"t"}, {"r"}, {intsAttr("axes", {0}), intAttr("keepdims", 1)}),
                       node("Add", {"r", "s"}, {"y"})},
             .inputs = {valueInfo("x"), valueInfo("c", BOOL, {})},
             .outputs = {valueInfo("y")},
             .initializers = {tensorHead("n", INT32, {2}).bytes(5, Proto().raw(3).raw(UINT64_MAX).str())},
             .sparseInitializers = {sparse},
             .valueInfos = {valueInfo("h")}});
  Proto body = function({.name = "F",
                         .inputs = {"p"},
                         .outputs = {"q"},
                         .nodes = {node("Softmax", {"p"}, {"q"}, {refAttr("axis", "a", 2)})},
                         .attributes = {},
                         .defaults = {intAttr("a", 0)},
                         .opset = 11});
  return model(main, 11)
      .message(8, opsetImport("local", 1))
      .message(25, body)
      .message(14, Proto().bytes(1, "key").bytes(2, "value"));
}

TEST_F(WireTest, EveryPrefixEndsInAResult) {
  std::string bytes = richModel().str();
  ASSERT_TRUE(readBytes(bytes).ok()) << readBytes(bytes).error;
  for (size_t length = 0; length < bytes.size(); ++length) {
    Result result = readBytes(bytes.substr(0, length));
    EXPECT_TRUE(result.ok() || !result.error.empty());
  }
}

TEST_F(WireTest, EverySingleByteCorruptionEndsInAResult) {
  std::string bytes = richModel().str();
  size_t refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (unsigned flip : {0x01u, 0x80u, 0xffu, 0x7fu}) {
      std::string corrupt = bytes;
      corrupt[at] = static_cast<char>(corrupt[at] ^ flip);
      Result result = readBytes(corrupt);
      EXPECT_TRUE(result.ok() || !result.error.empty());
      for (char c : result.error)
        EXPECT_TRUE(c == ' ' || !iscntrl(static_cast<unsigned char>(c))) << result.error;
      refused += !result.ok();
    }
  EXPECT_GT(refused, bytes.size());
}

TEST_F(WireTest, MessagesAreEscapedAndCut) {
  EXPECT_EQ(quoted("a\x1b[31m\n%n"), "'a\\x1b[31m\\n%n'");
  EXPECT_EQ(quoted("\xff\xc3\xa9"), "'\\xff\xc3\xa9'");
  EXPECT_EQ(quoted("\xe2\x80\xae"), "'\\xe2\\x80\\xae'"); // right-to-left override
  std::string text = escaped(std::string(1 << 20, 'a'));
  EXPECT_LT(text.size(), 120u);
  EXPECT_NE(text.find("1048576"), std::string::npos);
}

} // namespace
} // namespace farskip::onnx::reader::test
