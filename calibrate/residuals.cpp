#include "calibrate/residuals.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {
double quantile(std::vector<double> const& sorted, double share) {
  auto const n = static_cast<double>(sorted.size());
  return sorted[static_cast<std::size_t>(std::max(1.0, std::ceil(share * n))) - 1];
}

Residuals residuals_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  return {static_cast<int>(errors.size()), quantile(errors, 0.5), quantile(errors, 0.9)};
}

double relative_error(double price, double measured) { return std::abs(price / measured - 1); }

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

}  // namespace rollcast
