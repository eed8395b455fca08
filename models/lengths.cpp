#include "models/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "models/lognormal.hpp"

namespace rollcast {
namespace {

constexpr int kLongest = 1'000'000'000;
constexpr int kExactTokens = 32;  // below this the mean counts every integer by itself

double total_weight(MixtureLength const& m) {
  if (m.components.empty() || m.components.size() != m.weights.size())
    throw std::logic_error("a mixture of lengths needs one weight per component");
  return std::accumulate(m.weights.begin(), m.weights.end(), 0.0);
}

// 0 stands for "no cut" on either side.
int tighter(int a, int b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

int to_tokens(double length, int cut) {
  double const limit = cut > 0 ? cut : kLongest;
  return static_cast<int>(std::clamp(std::floor(length + 0.5), 1.0, limit));
}

double growth_factor(Lengths const& l, int step) {
  return portable_exp(step * portable_log(1.0 + l.growth_per_step));
}

// Mean of the rounded and cut length L: sum over k of P(L >= k) = 1 + sum over k = 2 .. cut of P(X > k -
// 1/2). From kExactTokens on the sum is its midpoint rule: the integral of P(X > x) over [a, b] plus
// (density(b) - density(a)) / 24.
double lognormal_mean(double mu, double sigma, int cut) {
  if (sigma <= 0.0) return to_tokens(portable_exp(mu), cut);
  double const b = cut > 0 ? cut : std::numeric_limits<double>::infinity();
  int const exact = cut > 0 ? std::min(cut, kExactTokens) : kExactTokens;
  double sum = 1.0;
  for (int k = 2; k <= exact; ++k) sum += lognormal_above(mu, sigma, k - 0.5);
  if (exact == cut) return sum;
  double const a = exact;
  double const end = std::isinf(b) ? 0.0 : lognormal_density(mu, sigma, b);
  return sum + lognormal_limited_mean(mu, sigma, b) - lognormal_limited_mean(mu, sigma, a) +
         (end - lognormal_density(mu, sigma, a)) / 24.0;
}

struct Cut {
  double factor = 1.0;  // growth
  int max = 0;
};

double mean_of(FixedLength const& f, Cut c) { return to_tokens(f.tokens * c.factor, c.max); }
double mean_of(LogNormalLength const& n, Cut c) {
  return lognormal_mean(n.mu + portable_log(c.factor), n.sigma, tighter(n.max, c.max));
}
double mean_of(EmpiricalLength const& e, Cut c) {
  if (e.tokens.empty()) throw std::logic_error("an empirical length without lengths");
  double sum = 0.0;
  for (int t : e.tokens) sum += to_tokens(t * c.factor, c.max);
  return sum / static_cast<double>(e.tokens.size());
}
double mean_of(MixtureLength const& m, Cut c) {
  double const total = total_weight(m);
  double sum = 0.0;
  for (std::size_t i = 0; i < m.components.size(); ++i)
    sum += m.weights[i] / total * std::visit([&](auto const& s) { return mean_of(s, c); }, m.components[i]);
  return sum;
}

// words[0] draws the length, words[1] the component of a mixture.
using Words = std::array<std::uint64_t, 2>;

int draw(FixedLength const& f, Words, Cut c) { return to_tokens(f.tokens * c.factor, c.max); }
int draw(LogNormalLength const& n, Words words, Cut c) {
  double const z = inverse_normal_cdf(unit_interval(words[0]));
  return to_tokens(portable_exp(n.mu + n.sigma * z) * c.factor, tighter(n.max, c.max));
}
int draw(EmpiricalLength const& e, Words words, Cut c) {
  if (e.tokens.empty()) throw std::logic_error("an empirical length without lengths");
  auto const i = static_cast<std::size_t>(unit_interval(words[0]) * static_cast<double>(e.tokens.size()));
  return to_tokens(e.tokens[std::min(i, e.tokens.size() - 1)] * c.factor, c.max);
}
int draw(MixtureLength const& m, Words words, Cut c) {
  double left = unit_interval(words[1]) * total_weight(m);
  std::size_t i = 0;
  while (i + 1 < m.components.size() && left >= m.weights[i]) left -= m.weights[i++];
  return std::visit([&](auto const& s) { return draw(s, words, c); }, m.components[i]);
}

// Bits whose unit interval has the normal score that the two make together.
std::uint64_t mixed_bits(std::uint64_t own, std::uint64_t shared, double correlation) {
  double const z = std::sqrt(correlation) * inverse_normal_cdf(unit_interval(shared)) +
                   std::sqrt(1 - correlation) * inverse_normal_cdf(unit_interval(own));
  double const below_one = 1 - 0x1p-53;
  return static_cast<std::uint64_t>(std::min(normal_cdf(z), below_one) * 0x1p64);
}

int longest_of(FixedLength const& f, bool grows, int cut) { return grows ? cut : to_tokens(f.tokens, cut); }
int longest_of(LogNormalLength const& n, bool, int cut) { return tighter(n.max, cut); }
int longest_of(EmpiricalLength const& e, bool grows, int cut) {
  if (e.tokens.empty()) throw std::logic_error("an empirical length without lengths");
  return grows ? cut : to_tokens(*std::max_element(e.tokens.begin(), e.tokens.end()), cut);
}
int longest_of(MixtureLength const& m, bool grows, int cut) {
  int result = 0;
  for (SimpleLength const& s : m.components) {
    int const one = std::visit([&](auto const& c) { return longest_of(c, grows, cut); }, s);
    if (one == 0) return 0;
    result = std::max(result, one);
  }
  return result;
}

}  // namespace

LogNormalFit fit_lognormal(double mean, double p95, int max) {
  if (!(mean >= 1.0) || !(p95 >= mean) || !(p95 <= kLongest))
    return {{}, fmt::format("mean {} and p95 {}: possible is 1 <= mean <= p95 <= {}", mean, p95, kLongest)};
  if (max < 0 || (max > 0 && !(p95 < max)))
    return {{},
            fmt::format("p95 {} must lie below the cut at max {}: at the cut it says nothing about the shape",
                        p95, max)};
  double const log_p95 = portable_log(p95);
  auto const mean_at = [&](double sigma) { return lognormal_mean(log_p95 - kZ95 * sigma, sigma, max); };

  SigmaFit const fit = fit_sigma(mean, mean_at);
  if (fit.found) return {{log_p95 - kZ95 * fit.sigma, fit.sigma, max}, {}};
  if (fit.least > p95) {
    return {{},
            fmt::format("lengths are whole tokens, and a p95 of {:.6g} is too short for a log-normal", p95)};
  }
  return {{},
          fmt::format("no log-normal has mean {:.6g} with p95 {:.6g}{}; with this p95 the mean can be "
                      "{:.6g} to {:.6g}",
                      mean, p95, max > 0 ? fmt::format(" and a cut at {}", max) : "", fit.least, p95)};
}

int sample(Lengths const& l, RandomKey key, int step) { return sample_correlated(l, key, {}, 0, step); }

int sample_correlated(Lengths const& l, RandomKey own, RandomKey shared, double correlation, int step) {
  Cut const c{growth_factor(l, step), l.max};
  if (auto const* list = std::get_if<EmpiricalLength>(&l.shape); list != nullptr && list->in_order) {
    if (list->tokens.empty()) throw std::logic_error("an empirical length without lengths");
    return to_tokens(list->tokens[own.index % list->tokens.size()] * c.factor, c.max);
  }
  Words words = random_words(own);
  if (correlation > 0) {
    Words const common = random_words(shared);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = mixed_bits(words[i], common[i], correlation);
  }
  return std::visit([&](auto const& s) { return draw(s, words, c); }, l.shape);
}

double mean(Lengths const& l, int step) {
  Cut const c{growth_factor(l, step), l.max};
  return std::visit([&](auto const& s) { return mean_of(s, c); }, l.shape);
}

int longest(Lengths const& l) {
  return std::visit([&](auto const& s) { return longest_of(s, l.growth_per_step > 0.0, l.max); }, l.shape);
}

}  // namespace rollcast
