// Tracks on which slices nest: any two are disjoint or one holds the other.
#pragma once

#include <cstdint>
#include <vector>

namespace rollcast {

// Nanoseconds, so that rounding cannot make slices overlap that did not.
struct Slice {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::size_t item = 0;  // whatever the caller numbers
  int lane = 0;          // set by assign_lanes
};

// Sorts by start, longer ones first, and gives each slice the first lane on which all nest.
void assign_lanes(std::vector<Slice>& slices);

// seconds as nanoseconds, rounded.
std::int64_t nanoseconds(double seconds);

}  // namespace rollcast
