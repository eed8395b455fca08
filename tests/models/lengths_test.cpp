#include "models/lengths.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace rollcast {
namespace {

using ::testing::HasSubstr;

// Mean of the rounded, cut length by brute force: every integer k with its own probability,
// P(L >= k) = P(X >= k - 1/2), from the standard library's erfc.
double summed_mean(LogNormalLength const& l, int upper) {
  double sum = 1.0;
  for (int k = 2; k <= upper; ++k)
    sum += 0.5 * std::erfc((std::log(k - 0.5) - l.mu) / (l.sigma * std::sqrt(2.0)));
  return sum;
}

std::vector<int> draws(Lengths const& l, int n, int step = 0) {
  std::vector<int> result;
  for (int i = 0; i < n; ++i)
    result.push_back(sample(l, {1, Purpose::response_length, 0, static_cast<std::uint64_t>(i)}, step));
  return result;
}

double average(std::vector<int> const& v) {
  double sum = 0;
  for (int t : v) sum += t;
  return sum / static_cast<double>(v.size());
}

struct Wanted {
  double mean;
  double p95;
  int max;
};

TEST(FitLogNormal, MeanAndP95HoldAfterTheCut) {
  for (Wanted w : {Wanted{1019, 2600, 3969}, Wanted{1019, 2600, 0}, Wanted{1019, 2600, 2700},
                   Wanted{3, 9, 20}, Wanted{2, 5, 0}, Wanted{400, 1200, 100000}, Wanted{90, 100, 128},
                   Wanted{30000, 32000, 32768}, Wanted{300, 2000, 2048}, Wanted{1.5, 4, 8}}) {
    LogNormalFit const fit = fit_lognormal(w.mean, w.p95, w.max);
    ASSERT_EQ(fit.error, "") << w.mean << " " << w.p95 << " " << w.max;
    EXPECT_EQ(fit.lengths.max, w.max);
    // P(X > p95) = 5 %, so that the 95th percentile of the integers is p95 itself.
    EXPECT_NEAR(0.5 * std::erfc((std::log(w.p95) - fit.lengths.mu) / (fit.lengths.sigma * std::sqrt(2.0))),
                0.05, 1e-12);
    int const upper = w.max > 0 ? w.max : 2'000'000;
    EXPECT_NEAR(summed_mean(fit.lengths, upper) / w.mean, 1.0, 1e-6)
        << w.mean << " " << w.p95 << " " << w.max;
    EXPECT_NEAR(mean(Lengths{fit.lengths}, 0) / w.mean, 1.0, 1e-9);
  }
}

TEST(FitLogNormal, SamplesShowTheMeanAndTheP95) {
  LogNormalFit const fit = fit_lognormal(1019, 2600, 3969);
  ASSERT_EQ(fit.error, "");
  std::vector<int> v = draws({fit.lengths}, 100'000);
  // The lengths spread by about 800 tokens: the mean of 100,000 has standard deviation 2.5, and their 95th
  // percentile sqrt(0.05 x 0.95 / n) / density = 0.00069 / 1.2e-4 = 6; four of each are allowed.
  EXPECT_NEAR(average(v), 1019, 10);
  std::sort(v.begin(), v.end());
  EXPECT_NEAR(v[95'000], 2600, 24);
  EXPECT_EQ(v.back(), 3969);
  EXPECT_GE(v.front(), 1);
}

TEST(FitLogNormal, TakesTheSmallerOfTwoSigmas) {
  // Without a cut the mean is p95 exp(s^2/2 - z s), z = 1.6449: s = 0.5 and s = 2z - 0.5 give the same mean.
  double const z = 1.6448536269514722;
  double const mean = 2000 * std::exp(0.125 - z * 0.5);
  LogNormalFit const fit = fit_lognormal(mean, 2000, 0);
  EXPECT_NEAR(fit.lengths.sigma, 0.5, 1e-6);
  EXPECT_NEAR(fit.lengths.mu, std::log(2000) - z * 0.5, 1e-6);
}

TEST(FitLogNormal, MeanEqualToP95IsASingleLength) {
  LogNormalFit const fit = fit_lognormal(700, 700, 0);
  ASSERT_EQ(fit.error, "");
  EXPECT_NEAR(fit.lengths.sigma, 0.0, 1e-9);
  EXPECT_THAT(draws({fit.lengths}, 50), ::testing::Each(700));
}

TEST(FitLogNormal, SaysWhatIsPossibleWhereNothingFits) {
  // Without a cut the least mean is p95 exp(-z^2/2) = 0.25855 p95 at sigma = z.
  EXPECT_THAT(fit_lognormal(250, 1000, 0).error, HasSubstr("the mean can be 258.5"));
  // Every length is at least 1, so with 5 % above 1 the mean is above 1 too.
  EXPECT_THAT(fit_lognormal(1, 1, 3969).error, HasSubstr("a p95 of 1 is too short"));
  EXPECT_EQ(fit_lognormal(259, 1000, 0).error, "");
  EXPECT_THAT(fit_lognormal(1200, 1000, 0).error, HasSubstr("possible is 1 <= mean <= p95"));
  EXPECT_THAT(fit_lognormal(0.5, 1000, 0).error, HasSubstr("possible is 1 <= mean <= p95"));
  EXPECT_THAT(fit_lognormal(std::nan(""), 1000, 0).error, HasSubstr("possible is"));
  EXPECT_THAT(fit_lognormal(800, 1000, 1000).error, HasSubstr("must lie below the cut"));
  EXPECT_THAT(fit_lognormal(800, 1000, 900).error, HasSubstr("must lie below the cut"));
  // P(X > 1000) = 5 % of at most 1100 tokens, the rest of at least 1: no mean below 0.05 x 1000 + 0.95 = 51.
  EXPECT_THAT(fit_lognormal(50, 1000, 1100).error,
              HasSubstr("and a cut at 1100; with this p95 the mean can be"));
}

TEST(Lengths, MeanOfALogNormalAgreesWithTheSumOverIntegers) {
  for (double mu : {0.0, 1.5, 4.0, 7.2}) {
    for (double sigma : {0.3, 0.8, 1.2}) {
      for (int max : {0, 2, 20, 32, 33, 200, 4000}) {
        LogNormalLength const l{mu, sigma, max};
        EXPECT_NEAR(mean(Lengths{l}, 0) / summed_mean(l, max > 0 ? max : 3'000'000), 1.0, 1e-6)
            << mu << " " << sigma << " " << max;
      }
    }
  }
}

TEST(Lengths, GrowthComesBeforeTheCut) {
  Lengths const fixed{FixedLength{1000}, 0.1, 1150};
  EXPECT_EQ(sample(fixed, {}, 0), 1000);
  EXPECT_EQ(sample(fixed, {}, 1), 1100);
  EXPECT_EQ(sample(fixed, {}, 2), 1150);  // 1210, cut
  EXPECT_DOUBLE_EQ(mean(fixed, 1), 1100);
  EXPECT_EQ(longest(fixed), 1150);

  Lengths const grown{LogNormalLength{6.0, 0.5, 1000}, 0.2, 0};
  LogNormalLength const step3{6.0 + 3 * std::log(1.2), 0.5, 1000};
  EXPECT_NEAR(mean(grown, 3), summed_mean(step3, 1000), 1e-3);
  EXPECT_EQ(longest(grown), 1000);
}

TEST(Lengths, EmpiricalDrawsEachLengthEquallyOften) {
  Lengths const l{EmpiricalLength{{10, 20, 90}}};
  EXPECT_DOUBLE_EQ(mean(l, 0), 40);
  EXPECT_EQ(longest(l), 90);
  std::vector<int> const v = draws(l, 30'000);
  // Binomial: 10,000 +- sqrt(30,000 x 1/3 x 2/3) = 82; four of them.
  for (int t : {10, 20, 90}) EXPECT_NEAR(static_cast<double>(std::count(v.begin(), v.end(), t)), 10'000, 330);
}

TEST(Lengths, MixtureWeighsItsComponents) {
  Lengths const l{MixtureLength{{3, 1}, {FixedLength{100}, LogNormalLength{5.0, 0.5, 400}}}};
  double const log_normal = summed_mean({5.0, 0.5, 400}, 400);
  EXPECT_NEAR(mean(l, 0), 0.75 * 100 + 0.25 * log_normal, 1e-4);
  EXPECT_EQ(longest(l), 400);
  std::vector<int> const v = draws(l, 40'000);
  EXPECT_NEAR(average(v), mean(l, 0), 2);
  // The component and the length come from different words: the lengths of the log-normal part keep its mean.
  std::vector<int> tail;
  std::copy_if(v.begin(), v.end(), std::back_inserter(tail), [](int t) { return t != 100; });
  EXPECT_NEAR(average(tail), log_normal, 5);
}

TEST(Lengths, UnboundedIsZero) {
  EXPECT_EQ(longest({LogNormalLength{6.0, 0.5, 0}}), 0);
  EXPECT_EQ(longest({LogNormalLength{6.0, 0.5, 0}, 0.0, 512}), 512);
  EXPECT_EQ(longest({FixedLength{100}}), 100);
  EXPECT_EQ(longest({FixedLength{100}, 0.5, 0}), 0);
  EXPECT_EQ(longest({MixtureLength{{1, 1}, {FixedLength{100}, LogNormalLength{5.0, 0.5, 0}}}}), 0);
}

TEST(Lengths, ASampleIsAtLeastOneToken) {
  for (int t : draws({LogNormalLength{-2.0, 1.0, 0}}, 1000)) EXPECT_GE(t, 1);
  EXPECT_EQ(sample({FixedLength{0}}, {}, 0), 1);
}

TEST(Lengths, EmptyShapesAreBrokenInvariants) {
  EXPECT_THROW(sample({EmpiricalLength{}}, {}, 0), std::logic_error);
  EXPECT_THROW(sample({MixtureLength{}}, {}, 0), std::logic_error);
  EXPECT_THROW(mean({MixtureLength{{1, 2}, {FixedLength{1}}}}, 0), std::logic_error);
}

TEST(Lengths, InOrderEachItemTakesItsOwn) {
  Lengths const l{EmpiricalLength{{10, 20, 90}, true}, 0.0, 50};
  for (std::uint64_t i = 0; i < 7; ++i) {
    int const expected[] = {10, 20, 50};  // 90 is cut
    EXPECT_EQ(sample(l, {3, Purpose::response_length, 2, i}, 2), expected[i % 3]);
  }
}

RandomKey length_key(std::uint64_t i) { return {1, Purpose::response_length, 0, i}; }
RandomKey prompt_key(std::uint64_t i) { return {1, Purpose::prompt_difficulty, 0, i}; }

TEST(Lengths, WithoutCorrelationNothingIsShared) {
  Lengths const l{LogNormalLength{6.0, 0.7, 2000}, 0.02, 2000};
  for (std::uint64_t i = 0; i < 200; ++i)
    EXPECT_EQ(sample_correlated(l, length_key(i), prompt_key(i / 8), 0, 3), sample(l, length_key(i), 3));
}

// exp(6 + 0.7 z): two siblings' logarithms have the correlation that was asked for, and mean and spread of
// all lengths stay. 20,000 pairs: the correlation's standard deviation is below 0.006, the mean's 0.7 / 141.
TEST(Lengths, SiblingsShareTheirPrompt) {
  for (double const wanted : {0.3, 0.8}) {
    Lengths const l{LogNormalLength{6.0, 0.7, 0}, 0.0, 0};
    double sum = 0, squares = 0, products = 0;
    int const pairs = 20'000;
    for (std::uint64_t i = 0; i < pairs; ++i) {
      auto const log_of = [&](std::uint64_t sibling) {
        return std::log(sample_correlated(l, length_key(2 * i + sibling), prompt_key(i), wanted, 0));
      };
      double const a = log_of(0) - 6.0, b = log_of(1) - 6.0;
      sum += a;
      squares += a * a;
      products += a * b;
    }
    EXPECT_NEAR(sum / pairs, 0, 0.02);
    EXPECT_NEAR(std::sqrt(squares / pairs), 0.7, 0.015);
    EXPECT_NEAR(products / squares, wanted, 0.03);
  }
}

}  // namespace
}  // namespace rollcast
