#include "calibrate/bench/statistics.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/quantile.hpp"

namespace rollcast {
double Spread::relative() const { return median.value > 0 ? (p90.value - p10.value) / median.value : 0; }

Spread spread_of(std::vector<double> seconds) {
  if (seconds.empty()) throw std::logic_error("the spread of no timing");
  std::sort(seconds.begin(), seconds.end());
  return {Seconds(interpolated_quantile(seconds, 0.5)), Seconds(interpolated_quantile(seconds, 0.1)),
          Seconds(interpolated_quantile(seconds, 0.9)), static_cast<int>(seconds.size())};
}

}  // namespace rollcast
