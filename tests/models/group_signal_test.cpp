#include "models/group_signal.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace rollcast {
namespace {

RandomKey key(std::uint32_t step) { return {3, Purpose::jitter, step, 0}; }

std::vector<bool> signals(int groups, double equal_share, RandomKey first) {
  std::vector<bool> result;
  for (int i = 0; i < groups; ++i, ++first.index) result.push_back(has_signal(equal_share, first));
  return result;
}

// 100,000 draws at 0.3: standard error 0.0014.
TEST(GroupSignal, DrawsHaveTheShare) {
  auto const signal = signals(100'000, 0.3, key(0));
  EXPECT_NEAR(std::accumulate(signal.begin(), signal.end(), 0) / 1e5, 0.7, 0.006);
  EXPECT_EQ(signals(100, 1.0, key(0)), std::vector<bool>(100, false));
  EXPECT_EQ(signals(100, 0.0, key(0)), std::vector<bool>(100, true));
  // Raising the share only takes signals away.
  auto const fewer = signals(1000, 0.5, key(0));
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_LE(fewer[i], signal[i]);
}

TEST(GroupSignal, PromptsPerRound) {
  EXPECT_EQ(prompts_per_round(512, 3), 1536);
  EXPECT_EQ(prompts_per_round(10, 1.25), 13);
  EXPECT_EQ(prompts_per_round(30, 1.1), 33);  // 33.000000000000004 in doubles
  EXPECT_EQ(prompts_per_round(1, 0.2), 1);
}

}  // namespace
}  // namespace rollcast
