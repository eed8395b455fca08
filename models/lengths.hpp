// Distributions of token counts, and reproducible samples of them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/random.hpp"

namespace rollcast {

struct FixedLength {
  int tokens = 0;
};

// exp(N(mu, sigma)), rounded to the nearest integer of at least 1, cut at max (a longer draw becomes max: the
// response is truncated there). max 0: no cut.
struct LogNormalLength {
  double mu = 0;
  double sigma = 0;
  int max = 0;
};

struct EmpiricalLength {
  std::vector<int> tokens;  // each equally likely, drawn with replacement
};

struct MixtureLength;  // weighted components, no mixture of mixtures

using SimpleLength = std::variant<FixedLength, LogNormalLength, EmpiricalLength>;

struct MixtureLength {
  std::vector<double> weights;  // positive; need not sum to 1
  std::vector<SimpleLength> components;
};

struct Lengths {
  std::variant<FixedLength, LogNormalLength, EmpiricalLength, MixtureLength> shape;
  double growth_per_step = 0;  // lengths of step s are multiplied by (1 + growth)^s before the cut
  int max = 0;                 // the hard cut of the workload; 0: none beyond the shape's own
};

// mu and sigma such that mean and p95 hold *after* the cut at max. max 0: no cut.
// error is empty on success; else it says why no such distribution exists.
struct LogNormalFit {
  LogNormalLength lengths;
  std::string error;
};
LogNormalFit fit_lognormal(double mean, double p95, int max);

// One sample; the same key gives the same length whatever else the scenario holds.
int sample(Lengths const& l, RandomKey key, int step);

double mean(Lengths const& l, int step);
int longest(Lengths const& l);  // largest possible sample; 0: unbounded

}  // namespace rollcast
