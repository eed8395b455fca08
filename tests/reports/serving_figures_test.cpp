#include "reports/serving_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/quantile.hpp"
#include "reports/analysis.hpp"
#include "tests/reports/small_serving_log.hpp"

namespace rollcast {
namespace {

ServingFigures figures() { return analyse(small_serving_log()).serving.value(); }

// TTFT in order: 0.5, 1, 2, 3, 4. p90 at place 0.9 x 4 = 3.6, p99 at 3.96.
TEST(ServingFigures, QuantilesLieBetweenOrderStatistics) {
  ServingFigures const f = figures();
  EXPECT_DOUBLE_EQ(f.ttft.mean.value, 10.5 / 5);
  EXPECT_DOUBLE_EQ(f.ttft.p50.value, 2);
  EXPECT_DOUBLE_EQ(f.ttft.p90.value, 3.6);
  EXPECT_DOUBLE_EQ(f.ttft.p99.value, 3.96);
  EXPECT_DOUBLE_EQ(f.ttft.max.value, 4);
  // TPOT of four: 0.5, 0.5, 1, 1; p50 at place 1.5.
  ASSERT_TRUE(f.tpot);
  EXPECT_DOUBLE_EQ(f.tpot->mean.value, 0.75);
  EXPECT_DOUBLE_EQ(f.tpot->p50.value, 0.75);
  EXPECT_DOUBLE_EQ(f.tpot->p90.value, 1);
  // Latency: 2, 2.5, 5, 6, 7.
  EXPECT_DOUBLE_EQ(f.latency.mean.value, 4.5);
  EXPECT_DOUBLE_EQ(f.latency.p50.value, 5);
  EXPECT_DOUBLE_EQ(f.latency.p99.value, 6.96);
}

// Five requests of 500 + 23 tokens from 0 to 10 s; Little's law: 0.5 x 4.5 and 0.5 x 2.1.
TEST(ServingFigures, RatesAreOverTheSpan) {
  ServingFigures const f = figures();
  EXPECT_DOUBLE_EQ(f.span.value, 10);
  EXPECT_DOUBLE_EQ(f.requests_per_second, 0.5);
  EXPECT_DOUBLE_EQ(f.output_tokens_per_second, 2.3);
  EXPECT_DOUBLE_EQ(f.total_tokens_per_second, 52.3);
  EXPECT_DOUBLE_EQ(f.in_flight, 2.25);
  EXPECT_DOUBLE_EQ(f.waiting, 1.05);
  EXPECT_EQ(f.in_time, 3);
  EXPECT_DOUBLE_EQ(f.in_time_share, 0.6);
  EXPECT_DOUBLE_EQ(f.goodput, 0.3);
}

// Of 4 GPUs x 10 s / 5 = 8 GPU-seconds: an engine-second is 2 / 5 of one. Steps 15 s, 1.5 s of them of
// adapters; 1 s of loads exposed.
TEST(ServingFigures, TheGpusTimeIsDividedWithoutRest) {
  ServingFigures const f = figures();
  EXPECT_DOUBLE_EQ(time_of(f.times, ServingTime::base).value, 5.4);
  EXPECT_DOUBLE_EQ(time_of(f.times, ServingTime::adapters).value, 0.6);
  EXPECT_DOUBLE_EQ(time_of(f.times, ServingTime::loads).value, 0.4);
  EXPECT_DOUBLE_EQ(time_of(f.times, ServingTime::switches).value, 0);
  EXPECT_NEAR(time_of(f.times, ServingTime::idle).value, 1.6, 1e-12);
  EXPECT_DOUBLE_EQ(kernel_share(f).value(), 0.1);
  EXPECT_DOUBLE_EQ(f.distinct_per_step.value(), 1.5);  // (60 + 15) / (40 + 10)
  EXPECT_DOUBLE_EQ(f.hit_share.value(), 0.25);         // 1 of 4
  EXPECT_EQ(f.used, 3);
}

// 0.1 s of kernels and 0.2 s of loads are the whole of 0.3 s, but for the last bit.
TEST(ServingFigures, RoundingIsNoIdleTime) {
  ServingLog log;
  log.requests.push_back({seconds(0), seconds(0.1), seconds(0.3), 1, 2, 0, 0});
  log.engines.resize(1);
  log.engines[0].exposed = seconds(0.2);
  log.engines[0].busy = log.engines[0].kernel_time = seconds(0.1);
  double const run = 0.1 + 0.2;
  ASSERT_GT(run - 0.1 - 0.2, 0);
  EXPECT_EQ(time_of(serving_figures(log, seconds(run), 1).times, ServingTime::idle).value, 0);
}

// Rates: 3 / 6 without adapter, 6 / 7 of adapter 0, 5 / 2.5, 9 / 7. Sum 4.642857, of squares 6.637755:
// 21.556122 / (4 x 6.637755).
TEST(ServingFigures, FairnessIsJainsIndexOfTheTenantsRates) {
  ServingFigures const f = figures();
  EXPECT_EQ(f.tenants, 4);
  EXPECT_NEAR(f.fairness, 0.811876, 1e-6);
  ASSERT_EQ(f.slowest.size(), 4u);
  EXPECT_EQ(f.slowest[0].adapter, 2);
  EXPECT_EQ(f.slowest[1].adapter, -1);
  EXPECT_EQ(f.slowest[2].adapter, 0);
  EXPECT_EQ(f.slowest[2].requests, 2);
  EXPECT_DOUBLE_EQ(f.slowest[2].mean_latency.value, 3.5);
  EXPECT_DOUBLE_EQ(f.slowest_by_p99[2].p99_latency.value, 4.97);  // 2 + 0.99 x 3
  EXPECT_EQ(f.slowest[3].adapter, 1);
}

// All alike: 1. One of n alone with a rate: 1/n.
TEST(ServingFigures, FairnessGoesFromOneOverNToOne) {
  ServingLog log;
  log.adapters = 4;
  for (int i = 0; i < 4; ++i) log.requests.push_back({seconds(0), seconds(1), seconds(2), 1, 10, i, 0});
  EXPECT_DOUBLE_EQ(serving_figures(log, seconds(2), 1).fairness, 1);
  for (int i = 1; i < 4; ++i) log.requests[static_cast<std::size_t>(i)].response_tokens = 0;
  EXPECT_DOUBLE_EQ(serving_figures(log, seconds(2), 1).fairness, 0.25);
}

TEST(ServingFigures, NothingIsSaidWithoutARequest) {
  ServingFigures const f = serving_figures(ServingLog(), seconds(1), 8);
  EXPECT_EQ(f.requests, 0);
  EXPECT_FALSE(serving_figures(ServingLog(), seconds(1), 8).tpot);
}

TEST(ServingFigures, AnObjectiveThatIsNotAskedIsMet) {
  ServedRequest const r{seconds(0), seconds(100), seconds(300), 1, 2, 0, 0};
  EXPECT_TRUE(is_in_time(r, {}));
  EXPECT_TRUE(is_in_time(r, {seconds(100), seconds(200), seconds(300)}));
  EXPECT_FALSE(is_in_time(r, {seconds(99), {}, {}}));
  EXPECT_FALSE(is_in_time(r, {{}, seconds(199), {}}));
  EXPECT_FALSE(is_in_time(r, {{}, {}, seconds(299)}));
  EXPECT_FALSE(asks({}));
}

// The same as from all of them sorted.
TEST(ServingFigures, QuantilesAreThoseOfTheSortedValues) {
  for (int n : {1, 2, 3, 10, 101, 1000}) {
    ServingLog log;
    log.adapters = 1;
    std::vector<double> sorted;
    std::uint64_t state = static_cast<std::uint64_t>(n);
    for (int i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      double const t = static_cast<double>(state >> 40);
      sorted.push_back(t);
      log.requests.push_back({seconds(0), seconds(t), seconds(t), 1, 1, 0, 0});
    }
    std::sort(sorted.begin(), sorted.end());
    LatencyFigures const l = serving_figures(log, seconds(1), 1).ttft;
    EXPECT_DOUBLE_EQ(l.p50.value, interpolated_quantile(sorted, 0.5)) << n;
    EXPECT_DOUBLE_EQ(l.p90.value, interpolated_quantile(sorted, 0.9)) << n;
    EXPECT_DOUBLE_EQ(l.p99.value, interpolated_quantile(sorted, 0.99)) << n;
    EXPECT_DOUBLE_EQ(l.max.value, sorted.back()) << n;
  }
}

}  // namespace
}  // namespace rollcast
