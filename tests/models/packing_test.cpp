#include "models/packing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

namespace rollcast {
namespace {

TEST(Packing, FirstFitDecreasing) {
  TrainerOptions t;
  t.packing = true;
  // Capacity 10; descending 7 5 4 3 1: packs {7 3}, {5 4 1}.
  auto const packs = make_micro_batches({4, 7, 1, 5, 3}, t, 1, 10);
  ASSERT_EQ(packs.size(), 2U);
  EXPECT_EQ(packs[0].tokens, 10);
  EXPECT_EQ(packs[1].tokens, 10);
  EXPECT_DOUBLE_EQ(packs[0].pairs, 28 + 6);       // 7 x 8 / 2 + 3 x 4 / 2
  EXPECT_DOUBLE_EQ(packs[1].pairs, 15 + 10 + 1);  // 5 x 6 / 2 + 4 x 5 / 2 + 1
}

// The first pack with room, whatever the lengths, and in n log n: 200,000 sequences of one capacity would
// take minutes if every pack were looked at.
TEST(Packing, IsFirstFitAndFast) {
  TrainerOptions t;
  t.packing = true;
  std::uint32_t state = 1;
  std::vector<int> lengths;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 1664525U + 1013904223U;
    lengths.push_back(1 + static_cast<int>(state >> 16U) % 4096);
  }
  auto const start = std::chrono::steady_clock::now();
  std::vector<MicroBatch> const all = make_micro_batches(lengths, t, 1, 4096);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  auto const tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  EXPECT_GE(static_cast<std::int64_t>(all.size()), tokens / 4096);

  lengths.resize(500);
  std::vector<MicroBatch> const packs = make_micro_batches(lengths, t, 1, 4096);
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  std::vector<std::int64_t> plain;
  for (int const length : lengths) {
    auto found = std::find_if(plain.begin(), plain.end(), [&](std::int64_t p) { return p + length <= 4096; });
    if (found == plain.end()) found = plain.insert(plain.end(), 0);
    *found += length;
  }
  ASSERT_EQ(packs.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(packs[i].tokens, plain[i]) << i;
}

TEST(Packing, CapacityIsPerSequenceAndDefaultsToTheLongest) {
  TrainerOptions t;
  t.packing = true;
  EXPECT_EQ(make_micro_batches({4, 4, 4, 4}, t, 2, 4).size(), 2U);
  EXPECT_EQ(make_micro_batches({6, 3, 3}, t, 1, 0).size(), 2U);  // capacity 6
  EXPECT_EQ(make_micro_batches({12, 3}, t, 1, 8).size(), 2U);    // too long for a pack: alone
  EXPECT_TRUE(make_micro_batches({}, t, 1, 8).empty());
}

// Capacity 10: packs {7, 3} and {6, 2}, so 10 and 8 tokens. With equal packs under pipeline parallelism both
// compute 10; the sequences in them stay as they are.
TEST(Packing, EqualPacksArePaddedToTheLongestUnderPipelineParallelism) {
  TrainerOptions t;
  t.packing = true;
  t.equal_packs = true;
  auto const alone = make_micro_batches({7, 6, 3, 2}, t, 1, 10);
  ASSERT_EQ(alone.size(), 2u);
  EXPECT_EQ(alone[1].tokens, 8);
  t.parallel.pp = 2;
  auto const staged = make_micro_batches({7, 6, 3, 2}, t, 1, 10);
  ASSERT_EQ(staged.size(), 2u);
  EXPECT_EQ(staged[0].tokens, 10);
  EXPECT_EQ(staged[1].tokens, 10);
  EXPECT_EQ(staged[1].useful_tokens, 8);
  EXPECT_DOUBLE_EQ(staged[1].pairs, alone[1].pairs);
}

TEST(Packing, PaddedGroupsOfNeighbours) {
  TrainerOptions const t;
  auto const groups = make_micro_batches({3, 5, 2}, t, 2, 0);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].tokens, 10);  // both padded to 5
  EXPECT_EQ(groups[0].useful_tokens, 8);
  EXPECT_DOUBLE_EQ(groups[0].pairs, 30);
  EXPECT_EQ(groups[1].tokens, 2);
  EXPECT_EQ(groups[1].useful_tokens, 2);
}

TEST(Packing, KeepsEveryTokenAndUsesAtMostTwiceTheFewestPacks) {
  TrainerOptions t;
  t.packing = true;
  std::vector<int> lengths;
  std::uint64_t state = 7;
  for (int i = 0; i < 500; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    lengths.push_back(1 + static_cast<int>((state >> 33) % 4096));
  }
  auto const total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  auto const packs = make_micro_batches(lengths, t, 1, 4096);
  std::int64_t tokens = 0;
  double pairs = 0;
  for (MicroBatch const& m : packs) {
    EXPECT_LE(m.tokens, 4096);
    EXPECT_EQ(m.tokens, m.useful_tokens);
    tokens += m.tokens;
    pairs += m.pairs;
  }
  double expected_pairs = 0;
  for (int const l : lengths) expected_pairs += 0.5 * l * (l + 1.0);
  EXPECT_EQ(tokens, total);
  EXPECT_NEAR(pairs, expected_pairs, 1e-6 * expected_pairs);
  EXPECT_LE(static_cast<std::int64_t>(packs.size()), 2 * (total / 4096 + 1));
}

}  // namespace
}  // namespace rollcast
