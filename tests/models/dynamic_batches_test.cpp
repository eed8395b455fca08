#include "models/dynamic_batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "models/random.hpp"

namespace rollcast {
namespace {

TokenBudget budget(int tokens, int multiple = 1) { return {tokens, multiple, LoadKind::tokens}; }

TEST(DynamicBatches, TheFullestRankSetsTheCount) {
  EXPECT_EQ(count_dynamic_batches({{4, 4, 2}}, budget(10)), 1);
  EXPECT_EQ(count_dynamic_batches({{4, 4, 3}}, budget(10)), 2);             // ceil(11 / 10)
  EXPECT_EQ(count_dynamic_batches({{4, 4, 2}, {9, 9, 9}}, budget(10)), 3);  // ceil(27 / 10)
  EXPECT_EQ(count_dynamic_batches({{50, 50}}, budget(10)), 2);              // no more than sequences
  EXPECT_EQ(count_dynamic_batches({{9, 9, 9, 1}}, budget(10, 4)), 4);       // 3, up to a multiple of 4
  EXPECT_EQ(count_dynamic_batches({}, budget(10)), 0);
  EXPECT_THROW(count_dynamic_batches({{1}}, budget(0)), std::logic_error);
  EXPECT_THROW(count_dynamic_batches({{1}}, budget(10, 0)), std::logic_error);
}

// One sequence each, by load 9 7 5 3 1 (indices 4 2 0 3 1): every other from the heaviest, backwards (1 5 9),
// then the rest (7 3).
TEST(DynamicBatches, HeaviestInTheMiddle) {
  EXPECT_EQ(split_dynamic_batches({5, 1, 7, 3, 9}, 5, LoadKind::tokens),
            (std::vector<std::vector<int>>{{1}, {0}, {4}, {2}, {3}}));
}

// Rank 0 has 30 tokens, rank 1 has 13: three micro-batches each. Rank 0: 9 8 7 4 2 in three ways. 9 8: 9|8|-;
// with 7: 9|8|7, spread 2; 4 and 2: 4|2|-, spread 4, takes it in: 4 + 7 | 2 + 8 | 9, 11 10 9 tokens, in the
// order third, first, second. Rank 1: 6 4 3, one each.
TEST(DynamicBatches, TwoRanksByHand) {
  auto const batches = make_dynamic_batches({{9, 8, 7, 4, 2}, {6, 4, 3}}, budget(10));
  ASSERT_EQ(batches.size(), 2U);
  ASSERT_EQ(batches[0].size(), 3U);
  ASSERT_EQ(batches[1].size(), 3U);
  EXPECT_EQ(batches[0][0].tokens, 9);
  EXPECT_EQ(batches[0][1].tokens, 11);  // the budget of 10 holds on average only
  EXPECT_EQ(batches[0][2].tokens, 10);
  EXPECT_EQ(batches[0][1].useful_tokens, 11);
  EXPECT_DOUBLE_EQ(batches[0][1].pairs, 28 + 10);  // 7 x 8 / 2 + 4 x 5 / 2
  EXPECT_DOUBLE_EQ(batches[0][0].pairs, 45);
  EXPECT_EQ(batches[1][0].tokens, 3);
  EXPECT_EQ(batches[1][1].tokens, 6);
  EXPECT_EQ(batches[1][2].tokens, 4);
}

// 512 sequences over 8 ranks: nothing is lost, all ranks run the same count, no micro-batch is above its
// mean by more than the longest sequence.
TEST(DynamicBatches, KeepsEveryTokenInEqualCounts) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RankLengths ranks(8);
    for (std::size_t i = 0; i < 512; ++i) {
      double const u = uniform({seed, Purpose::response_length, 0, i});
      ranks[i % 8].push_back(1 + static_cast<int>(4000 * u * u));
    }
    int const multiple = 1 + static_cast<int>(seed % 4);
    auto const batches = make_dynamic_batches(ranks, budget(8192, multiple));
    int const count = count_dynamic_batches(ranks, budget(8192, multiple));
    EXPECT_EQ(count % multiple, 0);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ASSERT_EQ(batches[r].size(), static_cast<std::size_t>(count));
      auto const tokens = std::accumulate(ranks[r].begin(), ranks[r].end(), std::int64_t{0});
      std::int64_t kept = 0;
      double pairs = 0;
      for (MicroBatch const& m : batches[r]) {
        EXPECT_EQ(m.tokens, m.useful_tokens);
        EXPECT_LE(m.tokens, tokens / count + 4000);
        kept += m.tokens;
        pairs += m.pairs;
      }
      double expected = 0;
      for (int const l : ranks[r]) expected += 0.5 * l * (l + 1.0);
      EXPECT_EQ(kept, tokens);
      EXPECT_DOUBLE_EQ(pairs, expected);
      auto const heaviest =
          std::max_element(batches[r].begin(), batches[r].end(),
                           [](auto const& a, auto const& b) { return a.tokens < b.tokens; });
      auto const less = [](MicroBatch const& a, MicroBatch const& b) { return a.tokens < b.tokens; };
      EXPECT_TRUE(std::is_sorted(batches[r].begin(), heaviest, less));
      EXPECT_TRUE(std::is_sorted(std::make_reverse_iterator(batches[r].end()),
                                 std::make_reverse_iterator(heaviest), less));
    }
  }
}

TEST(DynamicBatches, ARankWithTooFewSequencesIsRefused) {
  EXPECT_THROW(make_dynamic_batches({{9, 9, 9}, {9, 9}}, budget(10)), std::logic_error);
  EXPECT_THROW(make_dynamic_batches({{9, 9, 9}}, budget(10, 4)), std::logic_error);
  EXPECT_TRUE(make_dynamic_batches({{}}, budget(10)).front().empty());
}

}  // namespace
}  // namespace rollcast
