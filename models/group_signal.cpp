#include "models/group_signal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>

namespace rollcast {
namespace {

bool is_share(double x) { return x >= 0.0 && x <= 1.0; }

double power(double base, int n) {
  double result = 1.0;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

bool has_signal(double equal_share, RandomKey key) {
  key.purpose = Purpose::reward_signal;
  return uniform(key) >= equal_share;
}

void check(SamplingRounds const& s) {
  if (s.needed < 1 || s.per_round < 1 || s.most_rounds < 0 || !is_share(s.equal_share))
    throw std::logic_error("dynamic sampling needs groups, prompts per round and a share of equal rewards");
  if (s.most_rounds == 0 && s.equal_share >= 1.0)
    throw std::logic_error("dynamic sampling without end: every group has equal rewards");
}

// P(Binomial(n, p) < k), 0 < p < 1: the terms by their ratio, as logarithms because the first may underflow.
double binomial_below(std::int64_t n, double p, int k) {
  if (n < k) return 1.0;
  double const odds = portable_log(p / (1.0 - p));
  double log_term = static_cast<double>(n) * portable_log(1.0 - p);
  double sum = 0.0;
  for (int i = 0; i < k; ++i) {
    sum += portable_exp(log_term);
    log_term += portable_log(static_cast<double>(n - i) / (i + 1)) + odds;
  }
  return std::min(sum, 1.0);
}

}  // namespace

double equal_reward_share(double pass_rate, int group_size) {
  if (!is_share(pass_rate) || group_size < 1)
    throw std::logic_error("a pass rate is a share, and a group has samples");
  return group_size == 1 ? 0.0 : power(pass_rate, group_size) + power(1.0 - pass_rate, group_size);
}

double equal_reward_share(std::vector<double> const& pass_rates, int group_size) {
  if (pass_rates.empty()) throw std::logic_error("no pass rates");
  double sum = 0.0;
  for (double const p : pass_rates) sum += equal_reward_share(p, group_size);
  return sum / static_cast<double>(pass_rates.size());
}

std::vector<bool> groups_with_signal(int groups, double equal_share, RandomKey first) {
  std::vector<bool> result;
  for (int i = 0; i < groups; ++i) {
    result.push_back(has_signal(equal_share, first));
    ++first.index;
  }
  return result;
}

int prompts_per_round(int needed, double oversampling) {
  return std::max(1, static_cast<int>(std::ceil(oversampling * needed - 1e-9)));
}

RoundsDrawn draw_rounds(SamplingRounds const& s, RandomKey first) {
  check(s);
  RoundsDrawn result;
  int found = 0;
  while (found < s.needed && (s.most_rounds == 0 || result.rounds() < s.most_rounds)) {
    int with_signal = 0;
    for (int i = 0; i < s.per_round; ++i) {
      with_signal += has_signal(s.equal_share, first) ? 1 : 0;
      ++first.index;
    }
    found += with_signal;
    result.with_signal.push_back(with_signal);
    result.generated += s.per_round;
  }
  result.kept = std::min(found, s.needed);
  result.surplus = found - result.kept;
  result.enough = found >= s.needed;
  return result;
}

RoundsExpected expect_rounds(SamplingRounds const& s) {
  check(s);
  double const signal = 1.0 - s.equal_share;
  auto const lacking_after = [&](int rounds) {
    std::int64_t const prompts = std::int64_t{rounds} * s.per_round;
    if (signal <= 0.0) return 1.0;
    if (signal >= 1.0) return prompts < s.needed ? 1.0 : 0.0;
    return binomial_below(prompts, signal, s.needed);
  };
  RoundsExpected result;
  double lacking = 1.0;
  for (int r = 0; (s.most_rounds == 0 || r < s.most_rounds) && lacking >= 1e-15; ++r) {
    result.rounds += lacking;
    lacking = lacking_after(r + 1);
  }
  result.generated = result.rounds * s.per_round;
  result.with_signal = result.generated * signal;
  result.enough = 1.0 - lacking;
  return result;
}

}  // namespace rollcast
