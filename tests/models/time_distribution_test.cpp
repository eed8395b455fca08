#include "models/time_distribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/lognormal.hpp"

namespace rollcast {
namespace {

using ::testing::HasSubstr;

RandomKey key(std::uint64_t index) { return {7, Purpose::score_time, 3, index}; }

// Without a cut the mean is exp(mu + sigma^2 / 2) and p95 = exp(mu + z sigma), so log(p95 / mean) = z sigma -
// sigma^2 / 2 and sigma = z - sqrt(z^2 - 2 log(p95 / mean)).
TEST(TimeDistribution, WithoutACutTheFitHasAClosedForm) {
  TimeFit const fit = fit_lognormal_time(seconds(1), seconds(3), {});
  ASSERT_EQ(fit.error, "");
  auto const& n = std::get<LogNormalTime>(fit.times.shape);
  double const sigma = kZ95 - std::sqrt(kZ95 * kZ95 - 2 * std::log(3.0));
  EXPECT_NEAR(n.sigma, sigma, 1e-9);
  EXPECT_NEAR(n.mu, std::log(3.0) - kZ95 * sigma, 1e-9);
  EXPECT_NEAR(mean(fit.times).value, 1.0, 1e-9);
  EXPECT_EQ(share_cut(fit.times), 0.0);
}

// E[min(X, c)] as the sum of P(X > x) dx over [0, c], by the standard library's erfc.
TEST(TimeDistribution, MeanAndP95HoldAfterTheCut) {
  for (double const cut : {4.5, 10.0, 30.0}) {
    TimeFit const fit = fit_lognormal_time(seconds(1.5), seconds(4), seconds(cut));
    ASSERT_EQ(fit.error, "") << cut;
    auto const& n = std::get<LogNormalTime>(fit.times.shape);
    auto const above = [&](double x) {
      return 0.5 * std::erfc((std::log(x) - n.mu) / (n.sigma * std::sqrt(2.0)));
    };
    int const slices = 2'000'000;
    double sum = 0;
    for (int i = 0; i < slices; ++i) sum += above((i + 0.5) * cut / slices);
    EXPECT_NEAR(sum * cut / slices, 1.5, 1e-6) << cut;
    EXPECT_NEAR(above(4.0), 0.05, 1e-12);
    EXPECT_NEAR(share_cut(fit.times), above(cut), 1e-12);
  }
}

TEST(TimeDistribution, SaysWhatIsPossible) {
  // The least mean with p95 4 s is 4 exp(-z^2 / 2) = 4 x 0.25852 = 1.034 s; a time-out of 30 s lowers it.
  EXPECT_THAT(fit_lognormal_time(seconds(1), seconds(4), {}).error,
              HasSubstr("the mean can be 1.03 s to 4.00 s"));
  EXPECT_EQ(fit_lognormal_time(seconds(1), seconds(4), seconds(30)).error, "");
  EXPECT_THAT(fit_lognormal_time(seconds(2), seconds(1), {}).error, HasSubstr("0 < mean <= p95"));
  EXPECT_THAT(fit_lognormal_time({}, seconds(1), {}).error, HasSubstr("0 < mean <= p95"));
  EXPECT_THAT(fit_lognormal_time(seconds(1), seconds(4), seconds(4)).error, HasSubstr("time-out"));
}

TEST(TimeDistribution, NoSpreadIsAFixedTime) {
  TimeFit const fit = fit_lognormal_time(seconds(2), seconds(2), seconds(5));
  ASSERT_EQ(fit.error, "");
  EXPECT_NEAR(sample(fit.times, key(0)).value, 2.0, 1e-9);
  EXPECT_NEAR(mean(fit.times).value, 2.0, 1e-9);
  EXPECT_EQ(share_cut(fit.times), 0.0);
}

TEST(TimeDistribution, FixedTimesAreCutToo) {
  TimeDistribution const d{FixedTime{seconds(3)}, seconds(2)};
  EXPECT_EQ(sample(d, key(1)).value, 2.0);
  EXPECT_EQ(mean(d).value, 2.0);
  EXPECT_EQ(share_cut(d), 1.0);
  EXPECT_EQ(sample(TimeDistribution{FixedTime{seconds(3)}, {}}, key(1)).value, 3.0);
}

// 200,000 draws: the standard error of the mean is about sd / 447, with sd below 3 s less than 0.007 s.
TEST(TimeDistribution, DrawsFollowTheDistribution) {
  TimeDistribution const d = fit_lognormal_time(seconds(1.5), seconds(4), seconds(10)).times;
  std::vector<Seconds> const times = sample_times(d, key(0), 200'000);
  double sum = 0;
  int beyond = 0;
  int cut = 0;
  for (Seconds const t : times) {
    sum += t.value;
    beyond += t > seconds(4);
    cut += t >= d.cut;
    EXPECT_LE(t.value, 10.0);
    EXPECT_GT(t.value, 0.0);
  }
  EXPECT_NEAR(sum / 200'000, 1.5, 0.03);
  EXPECT_NEAR(beyond / 200'000.0, 0.05, 0.002);
  EXPECT_NEAR(cut / 200'000.0, share_cut(d), 0.002);
  // A draw depends on its own key alone.
  EXPECT_EQ(times[17].value, sample(d, key(17)).value);
  EXPECT_EQ(sample_times(d, key(17), 1)[0].value, times[17].value);
}

}  // namespace
}  // namespace rollcast
