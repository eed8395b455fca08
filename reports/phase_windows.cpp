#include "reports/phase_windows.hpp"

#include <algorithm>
#include <tuple>

namespace rollcast {
namespace {

struct Interval {
  Seconds start;
  Seconds end;
};

// Union of intervals that come in order of start.
void merge(std::vector<Interval>& merged, Interval i) {
  if (!merged.empty() && !(merged.back().end < i.start)) {
    merged.back().end = max(merged.back().end, i.end);
  } else {
    merged.push_back(i);
  }
}

Seconds overlap(std::vector<Interval> const& merged, PhaseWindow const& w) {
  Seconds sum;
  auto const ends_after = [](Seconds t, Interval const& i) { return t < i.end; };
  auto i = std::upper_bound(merged.begin(), merged.end(), w.start, ends_after);
  for (; i != merged.end() && i->start < w.end; ++i) sum += min(i->end, w.end) - max(i->start, w.start);
  return sum;
}

}  // namespace

std::vector<PhaseWindow> in_order(std::vector<PhaseWindow> windows) {
  std::stable_sort(windows.begin(), windows.end(), [](PhaseWindow const& a, PhaseWindow const& b) {
    return std::tie(a.start.value, a.end.value) < std::tie(b.start.value, b.end.value);
  });
  return windows;
}

std::vector<Seconds> exposed_times(std::vector<PhaseWindow> const& windows) {
  int pools = 0;
  for (PhaseWindow const& w : windows) pools = std::max(pools, w.pool + 1);
  std::vector<std::vector<Interval>> others(static_cast<std::size_t>(pools));
  for (PhaseWindow const& w : in_order(windows)) {
    for (int pool = 0; pool < pools; ++pool) {
      if (pool != w.pool) merge(others[static_cast<std::size_t>(pool)], {w.start, w.end});
    }
  }
  std::vector<Seconds> out;
  out.reserve(windows.size());
  for (PhaseWindow const& w : windows)
    out.push_back(w.end - w.start - overlap(others[static_cast<std::size_t>(w.pool)], w));
  return out;
}

Seconds covered_time(std::vector<PhaseWindow> const& windows, int pool, Phase phase) {
  std::vector<Interval> merged;
  for (PhaseWindow const& w : in_order(windows)) {
    if (w.pool == pool && w.phase == phase) merge(merged, {w.start, w.end});
  }
  Seconds sum;
  for (Interval const& i : merged) sum += i.end - i.start;
  return sum;
}

}  // namespace rollcast
