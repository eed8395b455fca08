// How far prices are from measured times.
#pragma once

#include <vector>

namespace rollcast {

// Of |price / measured - 1| over rows. p90: the smallest value that at least 90 % of the rows do not exceed;
// the median likewise with 50 %. No rows: zeros.
struct Residuals {
  int rows = 0;
  double median = 0;
  double p90 = 0;
};

Residuals residuals_of(std::vector<double> errors);

// The smallest of `sorted` (not empty) that at least `share` of them do not exceed.
double quantile(std::vector<double> const& sorted, double share);

double relative_error(double price, double measured);  // |price / measured - 1|

double median_of(std::vector<double> values);  // the lower one of two middles; 0 of none

}  // namespace rollcast
