#include "models/group_signal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

namespace rollcast {
namespace {

RandomKey key(std::uint32_t step) { return {3, Purpose::jitter, step, 0}; }

TEST(GroupSignal, EqualRewardsByPassRate) {
  EXPECT_DOUBLE_EQ(equal_reward_share(0.5, 2), 0.5);             // 1/4 + 1/4
  EXPECT_DOUBLE_EQ(equal_reward_share(0.5, 16), 2.0 / 65536.0);  // 2 x 2^-16
  EXPECT_DOUBLE_EQ(equal_reward_share(0.9, 3), 0.729 + 0.001);   // 0.9^3 + 0.1^3
  EXPECT_DOUBLE_EQ(equal_reward_share(0.0, 8), 1.0);
  EXPECT_DOUBLE_EQ(equal_reward_share(1.0, 8), 1.0);
  EXPECT_DOUBLE_EQ(equal_reward_share(0.7, 1), 0.0);  // nothing to compare with
  EXPECT_DOUBLE_EQ(equal_reward_share({0.0, 0.5, 0.5, 1.0}, 2), 0.75);
  EXPECT_THROW(equal_reward_share(1.1, 2), std::logic_error);
  EXPECT_THROW(equal_reward_share(0.5, 0), std::logic_error);
  EXPECT_THROW(equal_reward_share(std::vector<double>{}, 2), std::logic_error);
  // Larger groups are equal less often, at any pass rate between 0 and 1.
  for (double p = 0.05; p < 1; p += 0.05) {
    for (int n = 2; n < 32; ++n) EXPECT_LT(equal_reward_share(p, n + 1), equal_reward_share(p, n));
    EXPECT_NEAR(equal_reward_share(p, 7), std::pow(p, 7) + std::pow(1 - p, 7), 1e-15);
  }
}

// 100,000 draws at 0.3: standard error 0.0014.
TEST(GroupSignal, DrawsHaveTheShare) {
  auto const signal = groups_with_signal(100'000, 0.3, key(0));
  EXPECT_NEAR(std::accumulate(signal.begin(), signal.end(), 0) / 1e5, 0.7, 0.006);
  EXPECT_EQ(groups_with_signal(100, 1.0, key(0)), std::vector<bool>(100, false));
  EXPECT_EQ(groups_with_signal(100, 0.0, key(0)), std::vector<bool>(100, true));
  // Raising the share only takes signals away.
  auto const fewer = groups_with_signal(1000, 0.5, key(0));
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_LE(fewer[i], signal[i]);
}

TEST(GroupSignal, RoundsByHand) {
  // All groups have a signal: 10 needed in rounds of 4 take 3 rounds, and 2 groups are thrown away.
  RoundsDrawn const all = draw_rounds({10, 4, 0, 0.0}, key(0));
  EXPECT_EQ(all.with_signal, (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(all.generated, 12);
  EXPECT_EQ(all.kept, 10);
  EXPECT_EQ(all.surplus, 2);
  EXPECT_TRUE(all.enough);
  RoundsExpected const expected = expect_rounds({10, 4, 0, 0.0});
  EXPECT_EQ(expected.rounds, 3.0);
  EXPECT_EQ(expected.generated, 12.0);
  EXPECT_EQ(expected.enough, 1.0);
  // None has: the rounds allowed are spent.
  RoundsDrawn const none = draw_rounds({10, 4, 5, 1.0}, key(0));
  EXPECT_EQ(none.rounds(), 5);
  EXPECT_EQ(none.kept, 0);
  EXPECT_FALSE(none.enough);
  EXPECT_EQ(expect_rounds({10, 4, 5, 1.0}).rounds, 5.0);
  EXPECT_EQ(expect_rounds({10, 4, 5, 1.0}).enough, 0.0);
}

// One prompt a round, one group needed: rounds are geometric with mean 1 / (1 - q); at most m rounds:
// (1 - q^m) / (1 - q), and they are enough with 1 - q^m.
TEST(GroupSignal, GeometricInTheSmallestCase) {
  EXPECT_NEAR(expect_rounds({1, 1, 0, 0.75}).rounds, 4.0, 1e-12);
  RoundsExpected const three = expect_rounds({1, 1, 3, 0.75});
  EXPECT_NEAR(three.rounds, (1 - 0.421875) / 0.25, 1e-12);
  EXPECT_NEAR(three.enough, 1 - 0.421875, 1e-12);
  EXPECT_NEAR(three.with_signal, three.enough, 1e-12);  // at most one is found, then it ends
}

// k needed, one prompt a round: negative binomial, mean k / (1 - q).
TEST(GroupSignal, NegativeBinomial) {
  EXPECT_NEAR(expect_rounds({20, 1, 0, 0.6}).rounds, 50.0, 1e-9);
  EXPECT_NEAR(expect_rounds({512, 1, 0, 0.3}).rounds, 512 / 0.7, 1e-7);
}

// DAPO's 512 groups from 1,536 prompts a round: with 60 % of signal (922 expected) one round suffices, with
// 25 % (384) two are needed.
TEST(GroupSignal, DapoRounds) {
  EXPECT_NEAR(expect_rounds({512, 1536, 10, 0.4}).rounds, 1.0, 1e-12);
  EXPECT_NEAR(expect_rounds({512, 1536, 10, 0.75}).rounds, 2.0, 1e-9);
  EXPECT_NEAR(expect_rounds({512, 1536, 10, 0.75}).enough, 1.0, 1e-12);
  EXPECT_LT(expect_rounds({512, 1536, 10, 0.98}).enough, 1e-9);  // 307 of 15,360 expected
}

TEST(GroupSignal, DrawnRoundsAgreeWithTheExpected) {
  for (SamplingRounds const s : {SamplingRounds{64, 96, 10, 0.5}, SamplingRounds{8, 8, 3, 0.6},
                                 SamplingRounds{32, 40, 0, 0.2}, SamplingRounds{16, 64, 2, 0.8}}) {
    RoundsExpected const expected = expect_rounds(s);
    double rounds = 0;
    double found = 0;
    double enough = 0;
    int const steps = 20'000;
    for (std::uint32_t step = 0; step < steps; ++step) {
      RoundsDrawn const d = draw_rounds(s, key(step));
      int const with_signal = std::accumulate(d.with_signal.begin(), d.with_signal.end(), 0);
      EXPECT_EQ(d.generated, d.rounds() * s.per_round);
      EXPECT_EQ(d.kept + d.surplus, with_signal);
      EXPECT_EQ(d.enough, d.kept == s.needed);
      EXPECT_LT(with_signal - d.with_signal.back(), s.needed);  // no round too many
      rounds += d.rounds();
      found += with_signal;
      enough += d.enough ? 1 : 0;
    }
    // Standard errors: rounds have a deviation below 0.7 (0.005 over 20,000 steps), enough below 0.5
    // (0.0035).
    EXPECT_NEAR(rounds / steps, expected.rounds, 0.02);
    EXPECT_NEAR(found / steps / expected.with_signal, 1.0, 0.01);
    EXPECT_NEAR(enough / steps, expected.enough, 0.015);
  }
}

TEST(GroupSignal, PromptsPerRound) {
  EXPECT_EQ(prompts_per_round(512, 3), 1536);
  EXPECT_EQ(prompts_per_round(10, 1.25), 13);
  EXPECT_EQ(prompts_per_round(30, 1.1), 33);  // 33.000000000000004 in doubles
  EXPECT_EQ(prompts_per_round(1, 0.2), 1);
}

TEST(GroupSignal, Broken) {
  EXPECT_THROW(draw_rounds({0, 4, 1, 0.5}, key(0)), std::logic_error);
  EXPECT_THROW(draw_rounds({4, 4, 0, 1.0}, key(0)), std::logic_error);
  EXPECT_THROW(expect_rounds({4, 0, 0, 0.5}), std::logic_error);
  EXPECT_THROW(expect_rounds({4, 4, 0, 1.5}), std::logic_error);
}

}  // namespace
}  // namespace rollcast
