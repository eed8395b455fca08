// Time over bytes of one collective in one group, ready to be read many times, and how well it is known.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "models/prices.hpp"

namespace rollcast {

enum class Evidence {
  measured,    // a table of this GPU, fabric and operation; on several nodes: of this many
  derived,     // of another GPU of a measured kind of fabric, or of other rank counts
  unmeasured,  // a model alone, a table of another operation, or more nodes than any table of that kind has
};
std::string_view name_of(Evidence e);

// On half octaves from 8 B to 64 GiB, linear in bytes between and above, constant below, never falling.
inline constexpr std::size_t kCurvePoints = 67;
Bytes curve_point(std::size_t i);

struct CollectiveCurve {
  double volume = 0;  // bytes_per_link of each byte; 0: a group of one, costs nothing
  std::array<Seconds, kCurvePoints> time{};
  Evidence evidence = Evidence::unmeasured;
  std::string source;
};

// total() is the curve's time. alpha is the time of the smallest message, at most 0.99 of the total; the rest
// is bytes_per_link over an effective bandwidth, which for NVLS may lie above the link's own: it moves less
// than a ring does.
CollectivePrice price(CollectiveCurve const& curve, Bytes bytes);

}  // namespace rollcast
