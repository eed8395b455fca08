#include "models/collective_curve.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {
namespace {

constexpr int kFirstOctave = 3;
constexpr double kSqrt2 = 1.4142135623730951;

// The last point that is not above `bytes`, and not the very last; bytes is at least the first point.
std::size_t point_below(double bytes) {
  int exponent = 0;
  double const fraction = std::frexp(bytes, &exponent);  // bytes = fraction x 2^exponent, fraction 0.5 to 1
  int const point = 2 * (exponent - 1 - kFirstOctave) + (2 * fraction >= kSqrt2 ? 1 : 0);
  return std::min(kCurvePoints - 2, static_cast<std::size_t>(point));
}

}  // namespace

std::string_view name_of(Evidence e) {
  switch (e) {
    case Evidence::measured:
      return "measured";
    case Evidence::derived:
      return "derived";
    case Evidence::unmeasured:
      break;
  }
  return "unmeasured";
}

Bytes curve_point(std::size_t i) {
  return Bytes(std::ldexp(i % 2 == 0 ? 1.0 : kSqrt2, kFirstOctave + static_cast<int>(i / 2)));
}

CollectivePrice price(CollectiveCurve const& curve, Bytes bytes) {
  CollectivePrice p;
  if (!(curve.volume > 0) || bytes.value <= 0) return p;
  Seconds const least = curve.time.front();
  Seconds total = least;
  if (bytes > curve_point(0)) {
    std::size_t const i = point_below(bytes.value);
    Bytes const a = curve_point(i);
    total = curve.time[i] + (curve.time[i + 1] - curve.time[i]) * ((bytes - a) / (curve_point(i + 1) - a));
  }
  p.alpha = min(least, 0.99 * total);
  p.bytes_per_link = bytes * curve.volume;
  p.bandwidth = p.bytes_per_link / (total - p.alpha);
  return p;
}

}  // namespace rollcast
