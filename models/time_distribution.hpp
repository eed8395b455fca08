// Distributions of the time that one sample takes somewhere (a rule, a sandbox, a tool), and reproducible
// draws.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "models/random.hpp"
#include "models/units.hpp"

namespace rollcast {

struct FixedTime {
  Seconds time;
};

struct LogNormalTime {
  double mu = 0;  // of the logarithm of the seconds
  double sigma = 0;
};

// cut: a time-out. A longer draw ends there and takes the whole time-out. 0: none.
struct TimeDistribution {
  std::variant<FixedTime, LogNormalTime> shape;
  Seconds cut;
};

// The log-normal whose mean and 95th percentile hold *after* the cut, where two do the narrower one, as
// fit_lognormal does for lengths. Asks 0 < mean <= p95, and p95 < cut where there is one. Without a cut a
// mean is possible from 0.2585 p95 on (exp(-kZ95^2 / 2): no log-normal has p95 above 3.868 means). error is
// empty on success; else it says what is possible.
struct TimeFit {
  TimeDistribution times;
  std::string error;
};
TimeFit fit_lognormal_time(Seconds mean, Seconds p95, Seconds cut);

// One draw; the same key gives the same time whatever else the scenario holds.
Seconds sample(TimeDistribution const& d, RandomKey key);
// Draws of keys first, first + 1, ... (by index).
std::vector<Seconds> sample_times(TimeDistribution const& d, RandomKey first, std::size_t count);

Seconds mean(TimeDistribution const& d);
// The share of draws that the cut ends; a fixed time at the cut itself is not one.
double share_cut(TimeDistribution const& d);

}  // namespace rollcast
