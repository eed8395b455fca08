#include "models/lognormal.hpp"

#include <algorithm>
#include <cmath>

#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr double kLargestSigma = 10.0;

// Where the mean is least, at or beyond kZ95.
double least_mean_sigma(std::function<double(double)> const& mean_at) {
  double a = kZ95;
  double b = kLargestSigma;
  while (b - a > 1e-6) {
    double const third = (b - a) / 3.0;
    if (mean_at(a + third) > mean_at(b - third)) {
      a += third;
    } else {
      b -= third;
    }
  }
  return 0.5 * (a + b);
}

}  // namespace

double lognormal_above(double mu, double sigma, double x) {
  return normal_cdf((mu - portable_log(x)) / sigma);
}

double lognormal_density(double mu, double sigma, double x) {
  double const z = (portable_log(x) - mu) / sigma;
  return portable_exp(-0.5 * z * z) / (2.5066282746310005 * sigma * x);
}

double lognormal_limited_mean(double mu, double sigma, double b) {
  double const uncut = portable_exp(mu + 0.5 * sigma * sigma);
  if (std::isinf(b)) return uncut;
  return uncut * normal_cdf((portable_log(b) - mu) / sigma - sigma) + b * lognormal_above(mu, sigma, b);
}

SigmaFit fit_sigma(double mean, std::function<double(double)> const& mean_at) {
  double low = 0.0;
  double high = kZ95;
  if (mean < mean_at(high)) {
    low = kZ95;
    high = least_mean_sigma(mean_at);
    double const least = mean_at(high);
    if (mean < least) return {false, 0.0, least};
  }
  // The Illinois form of regula falsi keeps the root inside [low, high].
  double f_low = mean_at(low) - mean;
  double f_high = mean_at(high) - mean;
  int side = 0;
  for (int i = 0; i < 100 && high - low > 1e-13; ++i) {
    double const span = f_low - f_high;
    double const sigma = span > 0.0 ? std::clamp(low + (high - low) * f_low / span, low, high) : low;
    double const f = mean_at(sigma) - mean;
    if (std::fabs(f) <= 1e-12 * mean) {
      low = high = sigma;
    } else if (f > 0.0) {
      low = sigma;
      f_low = f;
      if (side == 1) f_high *= 0.5;
      side = 1;
    } else {
      high = sigma;
      f_high = f;
      if (side == -1) f_low *= 0.5;
      side = -1;
    }
  }
  return {true, 0.5 * (low + high), 0.0};
}

}  // namespace rollcast
