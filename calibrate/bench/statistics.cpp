#include "calibrate/bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rollcast {
namespace {

double quantile(std::vector<double> const& sorted, double share) {
  double const position = share * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(std::floor(position));
  auto const above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

}  // namespace

double Spread::relative() const { return median.value > 0 ? (p90.value - p10.value) / median.value : 0; }

Spread spread_of(std::vector<double> seconds) {
  if (seconds.empty()) throw std::logic_error("the spread of no timing");
  std::sort(seconds.begin(), seconds.end());
  return {Seconds(quantile(seconds, 0.5)), Seconds(quantile(seconds, 0.1)), Seconds(quantile(seconds, 0.9)),
          static_cast<int>(seconds.size())};
}

}  // namespace rollcast
