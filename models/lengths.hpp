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
  bool in_order = false;    // item i of a step takes the i-th instead, from the first again after the last
};

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

// mu and sigma such that mean and p95 hold *after* the cut at max, the mass beyond the cut sitting at max
// (and the mass below half a token at 1). max 0: no cut. Where two sigmas give the same mean, the smaller
// one. Asks 1 <= mean <= p95 < max. The rounding to integers is counted in the mean exactly below 32 tokens
// and to second order above; a spread of less than a token can move the mean by up to half a token. error is
// empty on success; else it says why no such distribution exists, and what is possible.
struct LogNormalFit {
  LogNormalLength lengths;
  std::string error;
};
LogNormalFit fit_lognormal(double mean, double p95, int max);

// One sample, at least 1 and at most 1e9 tokens; the same key gives the same length whatever else the
// scenario holds. An empty list of lengths or components, or weights that do not match the components, is a
// std::logic_error.
int sample(Lengths const& l, RandomKey key, int step);

// One of several samples whose normal scores have this correlation (0 <= correlation < 1) because they share
// the key `shared`: sqrt(correlation) x the score of `shared` + sqrt(1 - correlation) x the score of `own`.
// Each is distributed as without; with correlation 0 it is sample(l, own, step), to the token. Lengths in
// order are not drawn, and are what they are.
int sample_correlated(Lengths const& l, RandomKey own, RandomKey shared, double correlation, int step);

// The expectation of sample(): exact for fixed and empirical lengths, for log-normal ones as in
// fit_lognormal.
double mean(Lengths const& l, int step);

// The largest possible sample of any step; 0: unbounded.
int longest(Lengths const& l);

}  // namespace rollcast
