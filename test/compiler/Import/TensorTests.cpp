// Tensors: raw and typed data, sizes, sparse ones.
// SPDX-License-Identifier: Apache-2.0
#include "test/compiler/Import/ReaderFixture.h"

namespace farskip::onnx::reader::test {
namespace {

class TensorTest : public ReaderTest {
protected:
  Result readTensor(const Proto &tensor) { return read(addModel(tensor)); }
};

const Dims three = {3};

TEST_F(TensorTest, RawDataIsAReferenceIntoTheFile) {
  Result result = readTensor(tensor("w", FLOAT, three, rawBytes<float>({1, 2, 3})));
  ASSERT_TRUE(result.ok()) << result.error;
  const Tensor *w = result.initializer("w");
  EXPECT_FALSE(w->data.isOwned());
  EXPECT_EQ(result.values<float>(w), (std::vector<float>{1, 2, 3}));
}

TEST_F(TensorTest, TypedFieldsBecomeRawBytes) {
  Result packed = readTensor(tensorHead("w", FLOAT, three).bytes(4, rawBytes<float>({1, 2, 3})));
  ASSERT_TRUE(packed.ok()) << packed.error;
  EXPECT_FALSE(packed.initializer("w")->data.isOwned()); // the packed form is the raw layout
  EXPECT_EQ(packed.values<float>(packed.initializer("w")), (std::vector<float>{1, 2, 3}));

  Result unpacked = readTensor(tensorHead("w", FLOAT, three).fixed32(4, 1).fixed32(4, 2).fixed32(4, 3));
  ASSERT_TRUE(unpacked.ok()) << unpacked.error;
  EXPECT_EQ(unpacked.values<float>(unpacked.initializer("w")), (std::vector<float>{1, 2, 3}));

  Result ints = readTensor(tensorHead("w", INT64, three).bytes(7, Proto().raw(1).raw(UINT64_MAX).str()).varint(7, 9));
  ASSERT_TRUE(ints.ok()) << ints.error;
  EXPECT_EQ(ints.values<int64_t>(ints.initializer("w")), (std::vector<int64_t>{1, -1, 9}));

  Result halves = readTensor(tensorHead("w", FLOAT16, three).bytes(5, Proto().raw(0x3c00).raw(0xffff).raw(0).str()));
  ASSERT_TRUE(halves.ok()) << halves.error;
  EXPECT_EQ(halves.values<uint16_t>(halves.initializer("w")), (std::vector<uint16_t>{0x3c00, 0xffff, 0}));

  Result strings = readTensor(tensorHead("w", STRING, {2}).bytes(6, "a").bytes(6, ""));
  ASSERT_TRUE(strings.ok()) << strings.error;
  EXPECT_EQ(strings.initializer("w")->strings.size(), 2u);
}

TEST_F(TensorTest, FourBitsArePacked) {
  Result raw = readTensor(tensor("w", INT4, three, std::string("\xe1\x07", 2)));
  ASSERT_TRUE(raw.ok()) << raw.error;
  EXPECT_EQ(raw.values<uint8_t>(raw.initializer("w")), (std::vector<uint8_t>{0xe1, 0x07}));
  Result typed = readTensor(tensorHead("w", INT4, three).varint(5, 0xe1).varint(5, 0x07));
  ASSERT_TRUE(typed.ok()) << typed.error;
  EXPECT_EQ(typed.values<uint8_t>(typed.initializer("w")), (std::vector<uint8_t>{0xe1, 0x07}));
  EXPECT_REFUSED(readTensor(tensor("w", INT4, three, "\xe1")), "needs 2");
  EXPECT_READ(readTensor(tensor("w", INT4, {0}, "")));
}

TEST_F(TensorTest, EmptyTensorsNeedNoData) {
  EXPECT_READ(readTensor(tensorHead("w", FLOAT, {0})));
  EXPECT_READ(readTensor(tensorHead("w", FLOAT, {0, INT64_MAX, INT64_MAX})));
}

TEST_F(TensorTest, WrongSizes) {
  EXPECT_REFUSED(readTensor(tensor("w", FLOAT, three, "12345678")), "initializer 'w': raw_data has 8 bytes");
  EXPECT_REFUSED(readTensor(tensorHead("w", FLOAT, {})), "there is no data");
  EXPECT_REFUSED(readTensor(tensor("w", FLOAT, {-3}, "")), "negative");
  EXPECT_REFUSED(readTensor(tensor("w", FLOAT, {int64_t{1} << 32, int64_t{1} << 32}, "")), "2^63");
  EXPECT_REFUSED(readTensor(tensor("w", FLOAT, {int64_t{1} << 62, 4}, "")), "2^63");
  EXPECT_REFUSED(readTensor(tensor("w", FLOAT, {1000000000000}, "")), "needs 4000000000000");
  EXPECT_REFUSED(readTensor(tensor("w", FLOAT, Dims(65, 1), "1234")), "limit of 64");
  EXPECT_READ(readTensor(tensor("w", FLOAT, Dims(64, 1), "1234")));
  EXPECT_REFUSED(readTensor(tensorHead("w", FLOAT, three).bytes(4, rawBytes<float>({1, 2}))), "float_data has 2");
  EXPECT_REFUSED(readTensor(tensorHead("w", FLOAT, three).bytes(4, "12345")), "not a multiple of 4");
  EXPECT_REFUSED(readTensor(tensorHead("w", INT64, {1}).bytes(7, "\x81")), "there is no data");
}

TEST_F(TensorTest, ExactlyOneFieldHoldsTheData) {
  Proto both = tensor("w", FLOAT, three, rawBytes<float>({1, 2, 3})).bytes(4, rawBytes<float>({1, 2, 3}));
  EXPECT_REFUSED(readTensor(both), "both raw_data and float_data");
  EXPECT_REFUSED(readTensor(tensorHead("w", FLOAT, three).bytes(7, "\x01\x02\x03")), "it has to be in raw_data");
  EXPECT_REFUSED(readTensor(tensorHead("w", FLOAT, {1}).varint(7, 1).fixed32(4, 1)), "both float_data and int64_data");
  EXPECT_REFUSED(readTensor(tensorHead("w", FLOAT, {1}).bytes(9, "1234").bytes(3, "")), "segment");
}

TEST_F(TensorTest, EntriesFitTheirType) {
  EXPECT_REFUSED(readTensor(tensorHead("w", INT8, {1}).varint(5, 300)), "entry 300 does not fit int8");
  EXPECT_REFUSED(readTensor(tensorHead("w", INT32, {1}).varint(5, uint64_t{1} << 32)), "does not fit int32");
  EXPECT_REFUSED(readTensor(tensorHead("w", BOOL, {1}).varint(5, 2)), "does not fit bool");
  EXPECT_REFUSED(readTensor(tensor("w", BOOL, {2}, std::string("\x01\x02", 2))), "the byte 2");
  EXPECT_READ(readTensor(tensorHead("w", INT8, {1}).varint(5, static_cast<uint64_t>(-128))));
}

TEST_F(TensorTest, TypeNumbersAreNotCut) {
  EXPECT_REFUSED(readTensor(tensorHead("w", 0, {1})), "data_type is 0");
  EXPECT_REFUSED(readTensor(tensorHead("w", 99, {1})), "data_type is 99");
  Proto cut = Proto().varint(1, 1).varint(2, (uint64_t{1} << 32) + 1).bytes(8, "w").bytes(9, "1234");
  EXPECT_REFUSED(readTensor(cut), "data_type is 4294967297");
}

Proto sparse(const Dims &dims, const Proto &values, const Proto &indices) {
  Proto proto = Proto().message(1, values).message(2, indices);
  for (int64_t dim : dims)
    proto.varint(3, static_cast<uint64_t>(dim));
  return proto;
}

TEST_F(TensorTest, SparseTensorsAreMadeDense) {
  auto readSparse = [&](const Proto &value) {
    return read(model(graph({.nodes = {node("Add", {"x", "w"}, {"y"})},
                             .inputs = {valueInfo("x")},
                             .outputs = {valueInfo("y")},
                             .initializers = {},
                             .sparseInitializers = {value},
                             .valueInfos = {}})));
  };
  Proto values = tensor("w", FLOAT, {2}, rawBytes<float>({5, 7}));
  auto linear = [](std::initializer_list<int64_t> list) {
    return tensor("i", INT64, {static_cast<int64_t>(list.size())}, rawBytes<int64_t>(list));
  };
  Result result = readSparse(sparse({2, 3}, values, linear({1, 5})));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.values<float>(result.initializer("w")), (std::vector<float>{0, 5, 0, 0, 0, 7}));

  Proto tuples = tensor("i", INT64, {2, 2}, rawBytes<int64_t>({0, 1, 1, 0}));
  Result pairs = readSparse(sparse({2, 3}, values, tuples));
  ASSERT_TRUE(pairs.ok()) << pairs.error;
  EXPECT_EQ(pairs.values<float>(pairs.initializer("w")), (std::vector<float>{0, 5, 0, 7, 0, 0}));

  EXPECT_REFUSED(readSparse(sparse({2, 3}, values, linear({5, 1}))), "ascend");
  EXPECT_REFUSED(readSparse(sparse({2, 3}, values, linear({1, 1}))), "ascend");
  EXPECT_REFUSED(readSparse(sparse({2, 3}, values, linear({1, 6}))), "not within");
  EXPECT_REFUSED(readSparse(sparse({2, 3}, values, linear({-1, 1}))), "not within");
  EXPECT_REFUSED(readSparse(sparse({2, 3}, values, linear({1}))), "indices have to be");
  EXPECT_REFUSED(readSparse(sparse({1 << 20, 1 << 20}, values, linear({1, 2}))), "67108864");
}

} // namespace
} // namespace farskip::onnx::reader::test
