#include "sim/rollout_curve.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {
namespace {

// An engine that preempts in every step has millions of points; nobody looks at more than these.
constexpr std::size_t kMostPoints = 4096;

using Point = std::vector<EnginePoint>::const_iterator;

// The last point of each of kMostPoints equal spans of time, where there are more points than that.
std::vector<EnginePoint> thinned(Point first, Point last) {
  if (last - first <= static_cast<std::ptrdiff_t>(kMostPoints)) return {first, last};
  Seconds const start = first->time;
  double const cells = static_cast<double>(kMostPoints - 1) / ((last - 1)->time - start).value;
  auto const cell = [&](Point p) { return std::floor((p->time - start).value * cells); };
  std::vector<EnginePoint> out;
  for (Point p = first; p != last; ++p) {
    if (p + 1 == last || cell(p) < cell(p + 1)) out.push_back(*p);
  }
  return out;
}

}  // namespace

void record_curve(PhaseRecorder const& recorder, int rank_class, std::vector<EnginePoint> const& curve,
                  Seconds from, Seconds until) {
  auto const is_before = [](EnginePoint const& p, Seconds t) { return p.time < t; };
  auto const first = std::lower_bound(curve.begin(), curve.end(), from, is_before);
  auto const last = std::lower_bound(first, curve.end(), until, is_before);
  for (EnginePoint const& point : thinned(first, last)) {
    auto const add = [&](CounterKind kind, double value) {
      recorder.counter({.rank_class = rank_class, .kind = kind, .time = point.time, .value = value});
    };
    add(CounterKind::running, point.running);
    add(CounterKind::waiting, point.waiting);
    add(CounterKind::kv_blocks, static_cast<double>(point.used_blocks));
  }
}

}  // namespace rollcast
