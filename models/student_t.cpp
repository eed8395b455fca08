#include "models/student_t.hpp"

#include <cmath>
#include <stdexcept>

namespace rollcast {
namespace {

// P(|T| <= sqrt(degrees) tan(angle)), angle in [0, pi/2).
double probability_within(double angle, int degrees) {
  double const c2 = std::cos(angle) * std::cos(angle);
  bool const odd = degrees % 2 == 1;
  double term = odd ? std::cos(angle) : 1;
  double sum = 0;
  for (int k = odd ? 1 : 0; k < degrees - 1; k += 2) {
    sum += term;
    term *= c2 * (k + 1) / (k + 2);
  }
  if (!odd) return std::sin(angle) * sum;
  return 2 / M_PI * (angle + std::sin(angle) * sum);
}

}  // namespace

double t_within(double within, int degrees) {
  if (degrees < 1 || !(0 < within && within < 1)) throw std::logic_error("no such quantile of Student's t");
  double low = 0, high = M_PI / 2;
  for (int i = 0; i < 100; ++i) {
    double const middle = (low + high) / 2;
    (probability_within(middle, degrees) < within ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(degrees)) * std::tan(low);
}

}  // namespace rollcast
