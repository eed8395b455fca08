#include "models/arrivals.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

namespace rollcast {
namespace {

Workload fixed_lengths() {
  Workload w;
  w.prompt_tokens.shape = FixedLength{100};
  w.response_tokens.shape = FixedLength{50};
  return w;
}

ServeOptions options(Arrivals arrivals, int requests) {
  ServeOptions s;
  s.requests = requests;
  s.arrivals = std::move(arrivals);
  return s;
}

Arrivals arrivals(ArrivalKind kind) {
  Arrivals a;
  a.kind = kind;
  return a;
}
Arrivals poisson(double rate) {
  Arrivals a = arrivals(ArrivalKind::poisson);
  a.rate = rate;
  return a;
}
Arrivals bursts(double rate, double variation) {
  Arrivals a = arrivals(ArrivalKind::bursts);
  a.rate = rate;
  a.variation = variation;
  return a;
}
Arrivals trace(double speed, std::vector<ServeRequest> rows) {
  Arrivals a = arrivals(ArrivalKind::trace);
  a.speed = speed;
  a.trace = std::move(rows);
  return a;
}

struct Gaps {
  double mean = 0;
  double variation = 0;
};

Gaps gaps_of(std::vector<ServeRequest> const& requests) {
  double sum = 0, squares = 0;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    double const gap = requests[i].arrival.value - requests[i - 1].arrival.value;
    EXPECT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
  }
  auto const n = static_cast<double>(requests.size() - 1);
  double const mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean) / mean};
}

bool same(ServeRequest const& a, ServeRequest const& b) {
  return !(a.arrival < b.arrival) && !(b.arrival < a.arrival) && a.prompt_tokens == b.prompt_tokens &&
         a.response_tokens == b.response_tokens && a.adapter == b.adapter;
}

// The mean of n gaps of variation c has a standard error of c / sqrt(n) of itself; five of them are allowed.
// The measured variation has about sqrt((kurtosis - 1) / 4 / n) of itself, with the kurtosis 3 + 6 c^2 of a
// gamma: for c = 3 and n = 200,000 that is sqrt(56 / 4 / n) = 0.8 %.
TEST(Arrivals, GapsHaveTheirMeanAndVariation) {
  int const n = 200'000;
  for (double const c : {0.5, 1.0, 3.0}) {
    Gaps const g = gaps_of(serve_requests(options(bursts(12, c), n + 1), fixed_lengths(), 7));
    EXPECT_NEAR(g.mean * 12, 1, 5 * c / std::sqrt(n)) << c;
    EXPECT_NEAR(g.variation / c, 1, 5 * std::sqrt((2 + 6 * c * c) / 4 / n)) << c;
  }
  Gaps const g = gaps_of(serve_requests(options(poisson(12), n + 1), fixed_lengths(), 7));
  EXPECT_NEAR(g.mean * 12, 1, 5 / std::sqrt(n));
  EXPECT_NEAR(g.variation, 1, 5 * std::sqrt(8.0 / 4 / n));
}

// A gamma of shape k has P(gap < x) = 1 - e^-x for k = 1, and erf(sqrt(x)) for k = 1/2 (half the square of a
// standard normal), in units of the scale. The share of n gaps below x has a standard error below
// 1 / (2 sqrt(n)).
TEST(Arrivals, BurstsAreGammaDistributed) {
  int const n = 100'000;
  for (auto const& [variation, scale, cdf] :
       {std::tuple(
            1.0, 1.0, +[](double x) { return 1 - std::exp(-x); }),
        std::tuple(
            std::sqrt(2.0), 2.0, +[](double x) { return std::erf(std::sqrt(x)); })}) {
    auto const requests = serve_requests(options(bursts(1, variation), n + 1), fixed_lengths(), 3);
    for (double const x : {0.01, 0.1, 0.5, 1.0, 2.0}) {
      int below = 0;
      for (std::size_t i = 1; i < requests.size(); ++i)
        below += requests[i].arrival.value - requests[i - 1].arrival.value < x * scale ? 1 : 0;
      EXPECT_NEAR(static_cast<double>(below) / n, cdf(x), 2.5 / std::sqrt(n)) << variation << " at " << x;
    }
  }
}

TEST(Arrivals, GapsWithoutVariationAreEqual) {
  auto const requests = serve_requests(options(bursts(4, 0), 5), fixed_lengths(), 1);
  for (std::size_t i = 0; i < requests.size(); ++i)
    EXPECT_DOUBLE_EQ(requests[i].arrival.value, 0.25 * static_cast<double>(i));
}

TEST(Arrivals, ARequestIsTheSameInALongerRun) {
  Workload w = fixed_lengths();
  w.prompt_tokens.shape = LogNormalLength{5, 1, 1000};
  w.response_tokens.shape = LogNormalLength{4, 1, 1000};
  for (Arrivals const& a : {poisson(3), bursts(3, 2), arrivals(ArrivalKind::closed)}) {
    ServeOptions s = options(a, 200);
    s.adapters.count = 50;
    s.adapters.popularity = Popularity::zipf;
    auto const few = serve_requests(s, w, 11);
    s.requests = 1000;
    auto const many = serve_requests(s, w, 11);
    for (std::size_t i = 0; i < few.size(); ++i) EXPECT_TRUE(same(few[i], many[i])) << i;
    EXPECT_FALSE(same(serve_requests(s, w, 12)[7], many[7]));
  }
}

TEST(Arrivals, ClosedRequestsAreThereFromTheStart) {
  for (ServeRequest const& r :
       serve_requests(options(arrivals(ArrivalKind::closed), 6), fixed_lengths(), 1)) {
    EXPECT_FALSE(r.arrival.value > 0);
    EXPECT_EQ(r.prompt_tokens, 100);
    EXPECT_EQ(r.response_tokens, 50);
  }
}

// Adapter i has p_i = 1 / (i + 1)^s over the sum; its share in n draws has a standard error of
// sqrt(p (1 - p) / n), and five of them are allowed.
TEST(Arrivals, AdaptersAreAskedForByPopularity) {
  int const n = 200'000;
  ServeOptions s = options(poisson(1), n);
  s.adapters.count = 20;
  for (auto const& [popularity, exponent] :
       {std::pair(Popularity::uniform, 0.0), std::pair(Popularity::zipf, 1.0),
        std::pair(Popularity::zipf, 1.5)}) {
    s.adapters.popularity = popularity;
    s.adapters.exponent = exponent;
    double sum = 0;
    for (int i = 1; i <= 20; ++i) sum += std::pow(i, -exponent);
    std::vector<int> drawn(20);
    for (ServeRequest const& r : serve_requests(s, fixed_lengths(), 5))
      ++drawn[static_cast<std::size_t>(r.adapter)];
    std::vector<double> const shares = adapter_shares(s.adapters);
    for (int i = 0; i < 20; ++i) {
      double const p = std::pow(i + 1, -exponent) / sum;
      auto const at = static_cast<std::size_t>(i);
      EXPECT_NEAR(drawn[at] / static_cast<double>(n), p, 5 * std::sqrt(p * (1 - p) / n)) << i;
      EXPECT_NEAR(shares[at], p, 1e-14) << i;
    }
  }
}

TEST(Arrivals, IdenticalAndDistinctAdapters) {
  ServeOptions s = options(poisson(1), 10);
  s.adapters.count = 4;
  s.adapters.popularity = Popularity::identical;
  for (ServeRequest const& r : serve_requests(s, fixed_lengths(), 5)) EXPECT_EQ(r.adapter, 0);
  EXPECT_EQ(adapter_shares(s.adapters), (std::vector<double>{1, 0, 0, 0}));
  s.adapters.popularity = Popularity::distinct;
  auto const requests = serve_requests(s, fixed_lengths(), 5);
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(requests[i].adapter, static_cast<int>(i % 4));
}

TEST(Arrivals, ATraceIsPlayedAtItsSpeed) {
  ServeOptions s =
      options(trace(2, {{seconds(0), 10, 1, 2}, {seconds(3), 20, 2, -1}, {seconds(4), 30, 3, 0}}), 0);
  s.adapters.count = 3;
  s.adapters.popularity = Popularity::distinct;
  auto const all = serve_requests(s, {}, 5);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(same(all[0], {seconds(0), 10, 1, 2}));
  EXPECT_TRUE(same(all[1], {seconds(1.5), 20, 2, -1}));  // the base model
  EXPECT_TRUE(same(all[2], {seconds(2), 30, 3, 0}));
  s.requests = 2;
  EXPECT_EQ(serve_requests(s, {}, 5).size(), 2U);
  s.requests = 5;
  EXPECT_EQ(serve_requests(s, {}, 5).size(), 3U);
  for (ServeRequest& r : s.arrivals.trace) r.adapter = -1;
  EXPECT_TRUE(same(serve_requests(s, {}, 5)[1], {seconds(1.5), 20, 2, 1}));  // no row names one: drawn
}

TEST(Arrivals, TheLongestRequest) {
  // 910 and 810, not 900 + 800.
  Arrivals const a = trace(1, {{seconds(0), 900, 10, -1}, {seconds(1), 10, 800, -1}});
  EXPECT_EQ(longest_request(options(a, 0), {}), 910);
  Workload w = fixed_lengths();
  EXPECT_EQ(longest_request(options(poisson(1), 5), w), 150);
  w.response_tokens.shape = LogNormalLength{4, 1, 0};
  EXPECT_EQ(longest_request(options(poisson(1), 5), w), 0);
}

TEST(Arrivals, NonsenseIsALogicError) {
  EXPECT_THROW(serve_requests(options(poisson(0), 1), fixed_lengths(), 1), std::logic_error);
  ServeOptions none = options(poisson(1), 1);
  none.adapters.count = 0;
  EXPECT_THROW(serve_requests(none, fixed_lengths(), 1), std::logic_error);
  EXPECT_THROW(serve_requests(options(trace(0, {}), 1), {}, 1), std::logic_error);
}

}  // namespace
}  // namespace rollcast
