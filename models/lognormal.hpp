// Log-normal variables X = exp(N(mu, sigma)), and the one whose mean and 95th percentile are given.
#pragma once

#include <functional>

namespace rollcast {

constexpr double kZ95 = 1.6448536269514722;  // P(N(0, 1) > kZ95) = 5 %

// P(X > x) and the density at x; x > 0, sigma > 0.
double lognormal_above(double mu, double sigma, double x);
double lognormal_density(double mu, double sigma, double x);

// E[min(X, b)]; b may be infinite.
double lognormal_limited_mean(double mu, double sigma, double b);

// The smallest sigma at which the mean is the given one, the 95th percentile being held: mean_at(sigma) is
// the mean with mu = log(p95) - kZ95 sigma, of whatever is made of X (rounded, cut). With p95 held the mean
// falls from p95 at sigma 0 as sigma grows, at least until kZ95 (where the mean without a cut, p95
// exp(sigma^2 / 2 - kZ95 sigma), turns), and has one minimum; asks mean <= mean_at(0). found is false where
// the mean lies below that minimum; least is the minimum then.
struct SigmaFit {
  bool found = false;
  double sigma = 0;
  double least = 0;
};
SigmaFit fit_sigma(double mean, std::function<double(double)> const& mean_at);

}  // namespace rollcast
