// How many times as much of one thing as of another, from pairs.
#pragma once

#include <optional>
#include <vector>

namespace rollcast {

struct PairedRatio {
  double ratio = 1;  // geometric mean of the ratios
  // With 95 % confidence; absent of one pair.
  std::optional<double> low;
  std::optional<double> high;

  // Whether ratio is above 1 as far as the pairs tell: the interval lies above it. Of one pair the ratio
  // alone decides.
  bool above_one() const { return low.value_or(ratio) > 1; }
};

// Over n pairs with d = ln(a / b), m their mean and s their standard deviation (n - 1):
//   ratio = exp(m), low and high = exp(m -+ t s / sqrt(n)), t = t_within(0.95, n - 1)
// a and b have one size, at least 1, and are above 0; std::logic_error otherwise.
PairedRatio paired_ratio(std::vector<double> const& a, std::vector<double> const& b);

}  // namespace rollcast
