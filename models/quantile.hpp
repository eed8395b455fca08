// Quantiles between order statistics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace rollcast {

// Linear between the two of `sorted` (ascending, not empty) around place share x (size - 1); of numbers or
// quantities.
template <class T>
T interpolated_quantile(std::vector<T> const& sorted, double share) {
  double const place = share * static_cast<double>(sorted.size() - 1);
  auto const low = static_cast<std::size_t>(std::floor(place));
  std::size_t const high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - static_cast<double>(low));
}

}  // namespace rollcast
