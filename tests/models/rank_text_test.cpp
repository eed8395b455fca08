#include "models/rank_text.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

std::vector<int> all_but(int missing, int count) {
  std::vector<int> ranks;
  for (int r = 0; r < count; ++r)
    if (r != missing) ranks.push_back(r);
  return ranks;
}

TEST(RankText, RunsOfThreeAndMoreAreRanges) {
  EXPECT_EQ(rank_list({}), "");
  EXPECT_EQ(rank_list({3}), "3");
  EXPECT_EQ(rank_list({2, 3}), "2, 3");
  EXPECT_EQ(rank_list({2, 3, 4}), "2-4");
  EXPECT_EQ(rank_list(all_but(17, 64)), "0-16, 18-63");
}

TEST(RankText, AnyOrderDoes) { EXPECT_EQ(rank_list({9, 0, 2, 1, 8}), "0-2, 8, 9"); }

// 0, 2, 4, ... : sixteen runs are written, up to 30.
TEST(RankText, LongListsEndInDots) {
  std::vector<int> even(16);
  for (int i = 0; i < 16; ++i) even[static_cast<std::size_t>(i)] = 2 * i;
  std::string const sixteen = "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30";
  EXPECT_EQ(rank_list(even), sixteen);
  even.push_back(32);
  EXPECT_EQ(rank_list(even), sixteen + ", ...");
}

TEST(RankText, RanksAreNamedAndCounted) {
  EXPECT_EQ(named_ranks({}), "no rank");
  EXPECT_EQ(named_ranks({3}), "rank 3");
  EXPECT_EQ(named_ranks({0, 1, 2, 5}), "ranks 0-2, 5");
  EXPECT_EQ(counted_ranks({17}), "rank 17");
  EXPECT_EQ(counted_ranks(all_but(17, 64)), "63 ranks (0-16, 18-63)");
}

}  // namespace
}  // namespace rollcast
