#include "models/time_distribution.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "models/lognormal.hpp"

namespace rollcast {
namespace {

Seconds uncut(FixedTime const& f, RandomKey) { return f.time; }
Seconds uncut(LogNormalTime const& n, RandomKey key) {
  return seconds(portable_exp(n.mu + n.sigma * standard_normal(key)));
}

Seconds cut_at(Seconds time, Seconds cut) { return cut > Seconds{} ? min(time, cut) : time; }

double limit_of(Seconds cut) { return cut > Seconds{} ? cut.value : std::numeric_limits<double>::infinity(); }

double limited_mean(double mu, double sigma, double limit) {
  if (sigma <= 0.0) return std::fmin(portable_exp(mu), limit);
  return lognormal_limited_mean(mu, sigma, limit);
}

}  // namespace

TimeFit fit_lognormal_time(Seconds mean, Seconds p95, Seconds cut) {
  if (!(mean > Seconds{}) || !(p95 >= mean) || std::isinf(p95.value))
    return {{}, fmt::format("mean {} and p95 {}: possible is 0 < mean <= p95", format(mean), format(p95))};
  if (cut > Seconds{} && !(p95 < cut))
    return {{},
            fmt::format("p95 {} must lie below the time-out of {}: beyond it says nothing about the shape",
                        format(p95), format(cut))};
  double const log_p95 = portable_log(p95.value);
  double const limit = limit_of(cut);
  SigmaFit const fit =
      fit_sigma(mean.value, [&](double sigma) { return limited_mean(log_p95 - kZ95 * sigma, sigma, limit); });
  if (!fit.found)
    return {{},
            fmt::format("no log-normal has mean {} with p95 {}{}; with this p95 the mean can be {} to {}",
                        format(mean), format(p95),
                        cut > Seconds{} ? fmt::format(" and a time-out of {}", format(cut)) : "",
                        format(seconds(fit.least)), format(p95))};
  return {{LogNormalTime{log_p95 - kZ95 * fit.sigma, fit.sigma}, cut}, {}};
}

Seconds sample(TimeDistribution const& d, RandomKey key) {
  return cut_at(std::visit([&](auto const& s) { return uncut(s, key); }, d.shape), d.cut);
}

std::vector<Seconds> sample_times(TimeDistribution const& d, RandomKey first, std::size_t count) {
  std::vector<Seconds> times;
  times.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    times.push_back(sample(d, first));
    ++first.index;
  }
  return times;
}

Seconds mean(TimeDistribution const& d) {
  if (auto const* fixed = std::get_if<FixedTime>(&d.shape)) return cut_at(fixed->time, d.cut);
  auto const& n = std::get<LogNormalTime>(d.shape);
  return seconds(limited_mean(n.mu, n.sigma, limit_of(d.cut)));
}

double share_cut(TimeDistribution const& d) {
  if (!(d.cut > Seconds{})) return 0.0;
  if (auto const* fixed = std::get_if<FixedTime>(&d.shape)) return fixed->time > d.cut ? 1.0 : 0.0;
  auto const& n = std::get<LogNormalTime>(d.shape);
  if (n.sigma <= 0.0) return portable_exp(n.mu) > d.cut.value ? 1.0 : 0.0;
  return lognormal_above(n.mu, n.sigma, d.cut.value);
}

}  // namespace rollcast
