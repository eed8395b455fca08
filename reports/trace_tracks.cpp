#include "reports/trace_tracks.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {

void assign_lanes(std::vector<Slice>& slices) {
  std::stable_sort(slices.begin(), slices.end(), [](Slice const& a, Slice const& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<std::vector<std::int64_t>> open;  // per lane: ends of the slices that are open, innermost last
  for (Slice& s : slices) {
    for (s.lane = 0;; ++s.lane) {
      auto const lane = static_cast<std::size_t>(s.lane);
      if (lane == open.size()) open.emplace_back();
      auto& ends = open[lane];
      while (!ends.empty() && ends.back() <= s.start) ends.pop_back();
      if (ends.empty() || s.end <= ends.back()) {
        ends.push_back(s.end);
        break;
      }
    }
  }
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace rollcast
