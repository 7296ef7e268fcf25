// Dispatch and combine on one to five ranks, against a serial model of a MoE block.
// SPDX-License-Identifier: Apache-2.0
#include "test/runtime/Ranks.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace farskip::runtime;

namespace {

enum class Routing { Random, OneExpert, LastRank, Unused, Sparse, Doubled };

/// One MoE block of all ranks, as each of them knows it in the test.
struct Block {
  int64_t ranks, slots, experts, width;
  std::vector<int64_t> tokens;              ///< of each rank
  std::vector<std::vector<int32_t>> chosen; ///< [tokens, slots] of each rank

  Block(int64_t ranks, int64_t slots, int64_t experts, int64_t width, int64_t mostTokens, Routing routing, int seed)
      : ranks(ranks), slots(slots), experts(experts), width(width) {
    std::mt19937 random(seed);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      tokens.push_back(random() % 3 == 0 ? 0 : random() % (mostTokens + 1));
      std::vector<int32_t> list;
      for (int64_t i = 0; i < tokens[rank] * slots; ++i) {
        int32_t any = random() % experts;
        list.push_back(routing == Routing::OneExpert  ? experts / 2
                       : routing == Routing::LastRank ? experts - 1 - any % ((experts + ranks - 1) / ranks)
                       : routing == Routing::Unused   ? -1
                       : routing == Routing::Sparse   ? (random() % 2 ? -1 : any)
                       : routing == Routing::Doubled  ? i / slots % experts
                                                      : any);
      }
      chosen.push_back(list);
    }
  }

  int64_t owner(int64_t expert) const {
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (auto block = blockOf(experts, rank, ranks); expert >= block.first && expert < block.first + block.length)
        return rank;
    return -1;
  }
  static int32_t element(int64_t rank, int64_t token, int64_t column) { return rank * 1000003 + token * 101 + column; }
  static int32_t computed(int64_t expert, int32_t value) { return value * 7 + static_cast<int32_t>(expert) * 13; }
};

struct Row {
  int64_t source, token;
};

void runBlock(Context &context, const Block &block) {
  farskip_rt_context *rt = handle(context);
  int64_t rank = context.rank, rowBytes = block.width * sizeof(int32_t);
  const std::vector<int32_t> &own = block.chosen[rank];
  farskip_rt_plan *plan = farskip_rt_plan_create(rt, 0, own.data(), block.tokens[rank], block.slots, block.experts);

  std::vector<Row> rows;
  std::vector<std::vector<int64_t>> groups(block.experts);
  for (int64_t source = 0; source < block.ranks; ++source)
    for (int64_t token = 0; token < block.tokens[source]; ++token) {
      bool isNew = true;
      for (int64_t slot = 0; slot < block.slots; ++slot) {
        int64_t expert = block.chosen[source][token * block.slots + slot];
        if (expert < 0 || block.owner(expert) != rank)
          continue;
        if (isNew)
          rows.push_back({source, token});
        isNew = false;
        groups[expert].push_back(rows.size() - 1);
      }
    }
  int64_t received = farskip_rt_plan_received(rt, plan), pairs = farskip_rt_plan_pairs(rt, plan);
  RANK_CHECK(context, received == static_cast<int64_t>(rows.size()));
  std::vector<int64_t> offsets(block.experts + 1, -1), groupRows(pairs, -1);
  farskip_rt_plan_groups(rt, plan, offsets.data(), groupRows.data());
  RANK_CHECK(context, offsets[0] == 0 && offsets[block.experts] == pairs);
  for (int64_t expert = 0; expert < block.experts; ++expert)
    RANK_CHECK(context, std::vector<int64_t>(groupRows.begin() + offsets[expert],
                                             groupRows.begin() + offsets[expert + 1]) == groups[expert]);

  std::vector<int32_t> in(block.tokens[rank] * block.width), arrived(received * block.width, -1);
  for (int64_t token = 0; token < block.tokens[rank]; ++token)
    for (int64_t column = 0; column < block.width; ++column)
      in[token * block.width + column] = Block::element(rank, token, column);
  farskip_rt_request_wait(rt, farskip_rt_dispatch_start(rt, 1, plan, in.data(), rowBytes, arrived.data()));
  for (int64_t row = 0; row < received; ++row)
    for (int64_t column = 0; column < block.width; ++column)
      RANK_CHECK(context,
                 arrived[row * block.width + column] == Block::element(rows[row].source, rows[row].token, column));

  std::vector<int32_t> grouped(pairs * block.width), out(own.size() * block.width, -1);
  for (int64_t expert = 0; expert < block.experts; ++expert)
    for (int64_t pair = offsets[expert]; pair < offsets[expert + 1]; ++pair)
      for (int64_t column = 0; column < block.width; ++column)
        grouped[pair * block.width + column] = Block::computed(expert, arrived[groupRows[pair] * block.width + column]);
  farskip_rt_request *request = farskip_rt_combine_start(rt, 2, plan, grouped.data(), rowBytes, out.data());
  farskip_rt_plan_destroy(rt, plan);
  farskip_rt_request_wait(rt, request);
  for (size_t i = 0; i < own.size(); ++i)
    for (int64_t column = 0; column < block.width; ++column)
      RANK_CHECK(context,
                 out[i * block.width + column] ==
                     (own[i] < 0 ? 0 : Block::computed(own[i], Block::element(rank, i / block.slots, column))));
}

TEST(Plan, MatchesASerialModel) {
  int seed = 0;
  for (int64_t ranks = 1; ranks <= 5; ++ranks)
    for (Routing routing :
         {Routing::Random, Routing::OneExpert, Routing::LastRank, Routing::Unused, Routing::Sparse, Routing::Doubled}) {
      std::vector<Block> blocks;
      for (auto [slots, experts, width, tokens] :
           {std::array<int64_t, 4>{2, 8, 16, 40}, {1, 1, 1, 3}, {4, 3, 5, 7}, {2, 64, 300, 200}, {6, 5, 0, 9}})
        blocks.emplace_back(ranks, slots, experts, width, tokens, routing, ++seed);
      Status status = onRanks(ranks, [&](Context &context) {
        for (const Block &block : blocks)
          runBlock(context, block);
      });
      EXPECT_EQ(status.code, kOk) << ranks << " ranks, routing " << static_cast<int>(routing) << ": " << status.message;
    }
}

TEST(Plan, ManyBlocksReuseTheirMemory) {
  std::vector<Block> blocks;
  for (int seed = 0; seed < 200; ++seed)
    blocks.emplace_back(3, 2, 6, 8, 20, Routing::Random, seed);
  Status status = onRanks(3, [&](Context &context) {
    for (const Block &block : blocks)
      runBlock(context, block);
  });
  EXPECT_EQ(status.code, kOk) << status.message;
}

TEST(Plan, AnExpertOutOfRangeIsAnInputError) {
  for (int32_t expert : {-2, 4, INT32_MAX, INT32_MIN}) {
    Status status = onRanks(2, [=](Context &context) {
      int32_t chosen[] = {0, context.rank ? expert : 1};
      farskip_rt_plan_create(handle(context), 0, chosen, 1, 2, 4);
    });
    EXPECT_EQ(status.code, kInputError);
    EXPECT_NE(status.message.find("slot 1 of token 0 names expert " + std::to_string(expert)), std::string::npos)
        << status.message;
  }
}

} // namespace
