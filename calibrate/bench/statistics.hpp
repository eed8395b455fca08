// What repeated timings of one operation come to.
#pragma once

#include <vector>

#include "models/units.hpp"

namespace rollcast {

// Quantiles by linear interpolation between order statistics.
struct Spread {
  Seconds median;
  Seconds p10;
  Seconds p90;
  int repeats = 0;

  double relative() const;  // (p90 - p10) / median
};

// std::logic_error for an empty list.
Spread spread_of(std::vector<double> seconds);

}  // namespace rollcast
