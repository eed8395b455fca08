#include "reports/timeline.hpp"

#include <algorithm>

namespace rollcast {
namespace {

struct Edge {
  Seconds time;
  int change = 0;  // +1: an activity begins, -1: it ends
  Activity activity = Activity::compute;
};

std::vector<Segment> timeline_of(std::vector<Edge>& edges) {
  std::sort(edges.begin(), edges.end(), [](Edge const& a, Edge const& b) { return a.time < b.time; });
  std::vector<Segment> out;
  std::array<int, kActivities> active{};
  Seconds since;
  for (Edge const& e : edges) {
    auto const first = std::find_if(active.begin(), active.end(), [](int n) { return n > 0; });
    if (since < e.time && first != active.end()) {
      auto const a = static_cast<Activity>(first - active.begin());
      bool const continues = !out.empty() && out.back().activity == a && !(out.back().end < since);
      if (continues) {
        out.back().end = e.time;
      } else {
        out.push_back({since, e.time, a});
      }
    }
    active[index_of(e.activity)] += e.change;
    since = e.time;
  }
  return out;
}

}  // namespace

std::vector<std::vector<Segment>> timelines(EventLog const& log) {
  std::vector<std::vector<Edge>> edges(log.rank_classes.size());
  for (Span const& s : log.spans) {
    if (!(s.start < s.end) || s.stream == Stream::storage) continue;
    auto& of_class = edges[static_cast<std::size_t>(s.rank_class)];
    of_class.push_back({s.start, 1, s.activity});
    of_class.push_back({s.end, -1, s.activity});
  }
  std::vector<std::vector<Segment>> out;
  out.reserve(edges.size());
  for (auto& of_class : edges) out.push_back(timeline_of(of_class));
  return out;
}

ActivityTimes time_by_activity(std::vector<Segment> const& timeline, Seconds start, Seconds end) {
  ActivityTimes out{};
  auto const ends_after = [](Seconds t, Segment const& s) { return t < s.end; };
  auto s = std::upper_bound(timeline.begin(), timeline.end(), start, ends_after);
  for (; s != timeline.end() && s->start < end; ++s) {
    out[index_of(s->activity)] += min(s->end, end) - max(s->start, start);
  }
  return out;
}

}  // namespace rollcast
