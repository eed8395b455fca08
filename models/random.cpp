#include "models/random.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace rollcast {
namespace {

constexpr double kLn2High = 6.93147180369123816490e-01;  // low 32 bits zero, so that k * high is exact
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <std::size_t N>
double horner(std::array<double, N> const& c, double x) {
  double sum = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

// Wichura, M. J. (1988): Algorithm AS 241, The percentage points of the normal distribution, Applied
// Statistics 37(3), routine PPND16. Centre (|p - 1/2| <= 0.425), middle and far tail; each a rational
// function.
constexpr std::array<double, 8> kCentreTop{
    3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
    4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr std::array<double, 8> kCentreBottom{1.0,
                                              4.2313330701600911252e+1,
                                              6.8718700749205790830e+2,
                                              5.3941960214247511077e+3,
                                              2.1213794301586595867e+4,
                                              3.9307895800092710610e+4,
                                              2.8729085735721942674e+4,
                                              5.2264952788528545610e+3};
constexpr std::array<double, 8> kMiddleTop{1.42343711074968357734e0,  4.63033784615654529590e0,
                                           5.76949722146069140550e0,  3.64784832476320460504e0,
                                           1.27045825245236838258e0,  2.41780725177450611770e-1,
                                           2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array<double, 8> kMiddleBottom{1.0,
                                              2.05319162663775882187e0,
                                              1.67638483018380384940e0,
                                              6.89767334985100004550e-1,
                                              1.48103976427480074590e-1,
                                              1.51986665636164571966e-2,
                                              5.47593808499534494600e-4,
                                              1.05075007164441684324e-9};
constexpr std::array<double, 8> kFarTop{6.65790464350110377720e0,  5.46378491116411436990e0,
                                        1.78482653991729133580e0,  2.96560571828504891230e-1,
                                        2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                        2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array<double, 8> kFarBottom{1.0,
                                           5.99832206555887937690e-1,
                                           1.36929880922735805310e-1,
                                           1.48753612908506148525e-2,
                                           7.86869131145613259100e-4,
                                           1.84631831751005468180e-5,
                                           1.42151175831644588870e-7,
                                           2.04426310338993978564e-15};

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const p0 = std::uint64_t{0xD2511F53U} * c[0];
    std::uint64_t const p1 = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += 0x9E3779B9U;
    k[1] += 0xBB67AE85U;
  }
  return c;
}

std::array<std::uint64_t, 2> random_words(RandomKey key) {
  auto const low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  auto const high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  auto const block =
      philox({low(key.index), high(key.index), key.step, static_cast<std::uint32_t>(key.purpose)},
             {low(key.seed), high(key.seed)});
  return {std::uint64_t{block[1]} << 32 | block[0], std::uint64_t{block[3]} << 32 | block[2]};
}

std::uint64_t random_bits(RandomKey key) { return random_words(key)[0]; }

double unit_interval(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

double uniform(RandomKey key) { return unit_interval(random_bits(key)); }

double standard_normal(RandomKey key) { return inverse_normal_cdf(uniform(key)); }

// 1/23, 1/21, ..., 1/3.
constexpr std::array<double, 11> kOddReciprocals{1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                                 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};

double portable_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 710.0) return std::numeric_limits<double>::infinity();
  if (x < -746.0) return 0.0;
  // x = k ln 2 + r, |r| <= ln(2)/2: the Taylor series to r^13 is exact to 4e-18.
  double const k = std::floor(x * 1.44269504088896340736 + 0.5);
  double const r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1.0;
  for (int n = 13; n >= 1; --n) sum = 1.0 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

double portable_log(double x) {
  if (!(x > 0.0)) return kNaN;
  if (std::isinf(x)) return x;
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(f), |f| < 0.1716: f^2 < 0.0295, so that the
  // series to f^23 is exact to 1e-18.
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < 0.70710678118654752440) {
    m *= 2.0;
    --e;
  }
  double const f = (m - 1.0) / (m + 1.0);
  double const f2 = f * f;
  double sum = 0.0;
  for (double const term : kOddReciprocals) sum = sum * f2 + term;
  double const log_m = 2.0 * f + 2.0 * f * f2 * sum;
  return e * kLn2High + (log_m + e * kLn2Low);
}

double inverse_normal_cdf(double p) {
  if (!(p > 0.0 && p < 1.0)) return kNaN;
  double const q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    double const r = 0.180625 - q * q;
    return q * horner(kCentreTop, r) / horner(kCentreBottom, r);
  }
  double const r = std::sqrt(-portable_log(q < 0.0 ? p : 1.0 - p));
  double const z = r <= 5.0 ? horner(kMiddleTop, r - 1.6) / horner(kMiddleBottom, r - 1.6)
                            : horner(kFarTop, r - 5.0) / horner(kFarBottom, r - 5.0);
  return q < 0.0 ? -z : z;
}

double normal_cdf(double x) {
  if (std::isnan(x)) return x;
  double const a = std::fabs(x);
  if (a > 40.0) return x < 0.0 ? 0.0 : 1.0;
  double const density = 0.39894228040143267794 * portable_exp(-0.5 * a * a);
  double upper = 0.0;  // P(N > a)
  if (a < 2.5) {
    // P(0 < N < a) = density (a + a^3/3 + a^5/(3 x 5) + ...), all terms positive.
    double term = a;
    double sum = a;
    for (int n = 3; term > 1e-17 * sum; n += 2) {
      term *= a * a / n;
      sum += term;
    }
    upper = 0.5 - density * sum;
  } else {
    // Mills' ratio: 1/(a + 1/(a + 2/(a + 3/(a + ...)))); the levels needed fall with the square of a.
    double tail = a;
    for (int n = 8 + static_cast<int>(600.0 / (a * a)); n >= 1; --n) tail = a + n / tail;
    upper = density / tail;
  }
  return x < 0.0 ? upper : 1.0 - upper;
}

}  // namespace rollcast
