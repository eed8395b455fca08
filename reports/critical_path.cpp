#include "reports/critical_path.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "reports/phase_windows.hpp"

namespace rollcast {
namespace {

// End of the last work within the window, nothing if there is none.
std::optional<Seconds> last_work(std::vector<Segment> const& timeline, PhaseWindow const& w) {
  auto const starts_before = [](Segment const& s, Seconds t) { return s.start < t; };
  auto s = std::lower_bound(timeline.begin(), timeline.end(), w.end, starts_before);
  while (s != timeline.begin()) {
    --s;
    if (!(w.start < s->end)) return std::nullopt;
    if (is_work(s->activity)) return min(s->end, w.end);
  }
  return std::nullopt;
}

std::optional<std::size_t> last_worker(EventLog const& log, std::vector<std::vector<Segment>> const& lines,
                                       PhaseWindow const& w) {
  std::optional<std::size_t> last;
  Seconds latest = w.start;
  for (std::size_t c = 0; c < lines.size(); ++c) {
    if (log.rank_classes[c].pool != w.pool) continue;
    auto const end = last_work(lines[c], w);
    if (end && latest < *end) {
      latest = *end;
      last = c;
    }
  }
  return last;
}

class Path {
 public:
  void add(std::string_view phase, std::string_view cause, Seconds s) {
    if (!(Seconds(0) < s)) return;
    auto share = std::find_if(shares_.begin(), shares_.end(),
                              [&](PathShare const& p) { return p.phase == phase && p.cause == cause; });
    if (share == shares_.end())
      share = shares_.insert(shares_.end(), {std::string(phase), std::string(cause), Seconds(0)});
    share->seconds += s;
  }
  std::vector<PathShare> mean(double steps) && {
    for (PathShare& p : shares_) p.seconds /= steps;
    return std::move(shares_);
  }

 private:
  std::vector<PathShare> shares_;
};

}  // namespace

std::vector<PathShare> critical_path(EventLog const& log,
                                     std::vector<std::vector<Segment>> const& timelines) {
  Path path;
  std::vector<std::vector<PhaseWindow>> of_step(log.steps.size());
  for (PhaseWindow const& w : in_order(log.phases)) {
    if (static_cast<std::size_t>(w.step) < of_step.size())
      of_step[static_cast<std::size_t>(w.step)].push_back(w);
  }
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    Seconds covered = log.steps[i].start;
    Seconds const end = log.steps[i].end;
    for (PhaseWindow const& w : of_step[i]) {
      Seconds const from = min(max(w.start, covered), end);
      Seconds const to = min(w.end, end);
      path.add("between_phases", "unaccounted", from - covered);
      covered = max(from, to);
      if (!(from < to)) continue;
      Seconds unaccounted = to - from;
      if (auto const c = last_worker(log, timelines, w)) {
        ActivityTimes const times = time_by_activity(timelines[*c], from, to);
        for (std::size_t k = 0; k < kActivities; ++k) {
          path.add(name_of(w.phase), name_of(static_cast<Activity>(k)), times[k]);
          unaccounted -= times[k];
        }
      }
      // Below a nanosecond it is the rounding of the subtractions.
      if (Seconds(1e-9) < unaccounted) path.add(name_of(w.phase), "unaccounted", unaccounted);
    }
    path.add("between_phases", "unaccounted", end - covered);
  }
  return std::move(path).mean(static_cast<double>(log.steps.size()));
}

}  // namespace rollcast
