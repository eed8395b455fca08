#include "reports/html_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "reports/timeline.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kStepsShown = 5;
constexpr std::size_t kPhases = static_cast<std::size_t>(Phase::checkpoint) + 1;
constexpr std::size_t kMixParts = 3;

using Totals = std::array<float, kPhases * kActivities>;

std::vector<Totals> totals_by_class(EventLog const& log) {
  std::vector<Totals> out(log.rank_classes.size(), Totals{});
  for (Span const& s : log.spans) {
    std::size_t const at = static_cast<std::size_t>(s.phase) * kActivities + index_of(s.activity);
    out[static_cast<std::size_t>(s.rank_class)][at] += static_cast<float>((s.end - s.start).value);
  }
  return out;
}

float difference(Totals const& a, Totals const& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::fabs(a[i] - b[i]);
  return sum;
}

// Farthest-first: each next centre is the class that is farthest from all so far.
class Likeness {
 public:
  explicit Likeness(EventLog const& log)
      : log_(log),
        totals_(totals_by_class(log)),
        distance_(totals_.size(), std::numeric_limits<float>::infinity()),
        centre_(totals_.size(), 0) {}

  void add(int c) {
    auto const centre = static_cast<std::size_t>(c);
    for (std::size_t i = 0; i < totals_.size(); ++i) {
      if (log_.rank_classes[i].pool != log_.rank_classes[centre].pool) continue;
      float const d = i == centre ? -1 : difference(totals_[i], totals_[centre]);
      if (d < distance_[i]) {
        distance_[i] = d;
        centre_[i] = c;
      }
    }
  }
  int farthest() const {
    return static_cast<int>(std::max_element(distance_.begin(), distance_.end()) - distance_.begin());
  }
  bool differs(int c) const { return distance_[static_cast<std::size_t>(c)] > 0; }
  int centre_of(std::size_t c) const { return centre_[c]; }
  Seconds distance_of(std::size_t c) const {
    return seconds(std::max(0.0, static_cast<double>(distance_[c])));
  }

 private:
  EventLog const& log_;
  std::vector<Totals> totals_;
  std::vector<float> distance_;  // to the nearest centre; -1 of a centre
  std::vector<int> centre_;
};

struct Edge {
  Seconds time;
  bool begins = false;
  std::size_t span = 0;
};

bool continues(RowSegment const& last, Span const& s, Seconds from) {
  return !(last.end < from) && last.step == s.step && last.phase == s.phase && last.activity == s.activity &&
         last.mix.front().label == s.label;
}

// What counts at each moment, of the spans that these edges begin and end.
std::vector<RowSegment> disjoint(EventLog const& log, std::vector<Edge>& edges) {
  std::stable_sort(edges.begin(), edges.end(), [](Edge const& a, Edge const& b) { return a.time < b.time; });
  std::vector<RowSegment> out;
  std::set<std::pair<Activity, std::size_t>> active;
  Seconds since;
  for (Edge const& e : edges) {
    if (since < e.time && !active.empty()) {
      Span const& s = log.spans[active.begin()->second];
      if (!out.empty() && continues(out.back(), s, since)) {
        out.back().end = e.time;
      } else {
        out.push_back({since, e.time, s.step, s.phase, s.activity, {{s.activity, s.label, 1}}});
      }
    }
    std::pair const key(log.spans[e.span].activity, e.span);
    if (e.begins) {
      active.insert(key);
    } else {
      active.erase(key);
    }
    since = e.time;
  }
  return out;
}

// Segments that become one.
class Gathered {
 public:
  bool empty() const { return parts_.empty(); }
  Seconds length() const { return end_ - start_; }
  bool takes(RowSegment const& s, Seconds grain, bool across) const {
    if (parts_.empty()) return true;
    bool const alike = s.step == parts_.back().step && s.phase == parts_.back().phase;
    return (alike || across) && s.start - end_ < grain && length() < grain;
  }
  void add(RowSegment const& s) {
    if (parts_.empty()) start_ = s.start;
    end_ = s.end;
    parts_.push_back(s);
  }
  RowSegment take() {
    RowSegment out = one();
    parts_.clear();
    return out;
  }

 private:
  RowSegment one() const {
    if (parts_.size() == 1) return parts_.front();
    ActivityTimes of_activity{};
    std::array<Seconds, kPhases> of_phase{};
    std::vector<std::pair<Seconds, MixPart>> mix;
    for (RowSegment const& s : parts_) {
      of_phase[static_cast<std::size_t>(s.phase)] += s.end - s.start;
      for (MixPart const& p : s.mix) {
        Seconds const time = (s.end - s.start) * p.share;
        of_activity[index_of(p.activity)] += time;
        auto same = std::find_if(mix.begin(), mix.end(), [&](auto const& m) {
          return m.second.activity == p.activity && m.second.label == p.label;
        });
        if (same == mix.end()) same = mix.insert(mix.end(), {Seconds(0), p});
        same->first += time;
      }
    }
    std::stable_sort(mix.begin(), mix.end(), [](auto const& a, auto const& b) { return b.first < a.first; });
    if (mix.size() > kMixParts) mix.resize(kMixParts);
    RowSegment out{start_, end_, parts_.front().step, {}, {}, {}};
    out.phase = static_cast<Phase>(largest(of_phase));
    out.activity = static_cast<Activity>(largest(of_activity));
    for (auto& [time, part] : mix) {
      part.share = time / length();
      out.mix.push_back(part);
    }
    return out;
  }
  template <class Times>
  static std::size_t largest(Times const& times) {
    return static_cast<std::size_t>(std::max_element(times.begin(), times.end()) - times.begin());
  }

  std::vector<RowSegment> parts_;
  Seconds start_;
  Seconds end_;
};

// The classes that a reader looks for: of ranks that run out of memory, fail or are waited for.
std::vector<int> classes_of_causes(EventLog const& log) {
  std::set<std::pair<int, int>> ranks;
  for (OomRecord const& o : log.ooms) ranks.insert({o.pool, o.rank});
  for (FailureRecord const& f : log.failures) ranks.insert({f.pool, f.rank});
  for (StallRecord const& s : log.stalls) {
    if (!s.missing_ranks.empty()) ranks.insert({s.pool, s.missing_ranks.front()});
  }
  std::vector<int> out;
  if (ranks.empty()) return out;
  for (std::size_t c = 0; c < log.rank_classes.size(); ++c) {
    RankClassInfo const& info = log.rank_classes[c];
    bool const found = std::any_of(info.ranks.begin(), info.ranks.end(), [&](int r) {
      return ranks.contains({info.pool, r});
    });
    if (found) out.push_back(static_cast<int>(c));
  }
  return out;
}

std::size_t coarsen_all(std::vector<std::vector<RowSegment>> const& fine, Seconds grain, bool across,
                        std::vector<TimelineRow>& rows) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].segments = grain.value > 0 ? coarsened(fine[i], grain, across) : fine[i];
    count += rows[i].segments.size();
  }
  return count;
}

}  // namespace

TimeRange whole_range(EventLog const& log) {
  TimeRange r;
  bool first = true;
  auto const widen = [&](Seconds start, Seconds end) {
    r.start = first ? start : min(r.start, start);
    r.end = first ? end : max(r.end, end);
    first = false;
  };
  for (Span const& s : log.spans) widen(s.start, s.end);
  for (PhaseWindow const& w : log.phases) widen(w.start, w.end);
  for (Counter const& c : log.counters) widen(c.time, c.time);
  for (Happening const& h : log.happenings) widen(h.time, h.until);
  for (OomRecord const& o : log.ooms) widen(o.time, o.time);
  return r;
}

ShownSteps shown_steps(EventLog const& log) {
  std::size_t const steps = log.steps.size();
  auto const names = [&](std::size_t first, std::size_t last) {
    std::string const of = last - first + 1 < steps ? fmt::format(" of {}", steps) : "";
    return first == last ? fmt::format("step {}{}", first + 1, of)
                         : fmt::format("steps {} to {}{}", first + 1, last + 1, of);
  };
  if (log.outcome == Outcome::completed && steps > 0) {
    std::size_t const last = std::min(steps, kStepsShown) - 1;
    return {{log.steps.front().start, log.steps[last].end}, names(0, last)};
  }
  TimeRange range = whole_range(log);
  if (steps < kStepsShown) return {range, "from the start to the end"};
  std::size_t const first = steps - kStepsShown + 1;
  range.start = log.steps[first].start;
  return {range, fmt::format("from step {} to the end", first + 1)};
}

std::vector<TimelineRow> rows_by_likeness(EventLog const& log, std::size_t most,
                                          std::vector<int> const& kept) {
  std::size_t const classes = log.rank_classes.size();
  std::vector<TimelineRow> out;
  if (classes == 0 || most == 0) return out;
  if (classes <= most) {
    for (std::size_t c = 0; c < classes; ++c) {
      int const id = static_cast<int>(c);
      out.push_back({id, {id}, static_cast<int>(log.rank_classes[c].ranks.size()), {}, {}});
    }
    return out;
  }
  Likeness likeness(log);
  std::set<int> centres;
  for (std::size_t i = 0; i < kept.size() && centres.size() < most; ++i) {
    if (centres.insert(kept[i]).second) likeness.add(kept[i]);
  }
  while (centres.size() < most) {
    int const next = likeness.farthest();
    if (!likeness.differs(next)) break;
    centres.insert(next);
    likeness.add(next);
  }
  for (int c : centres) out.push_back({c, {}, 0, {}, {}});
  for (std::size_t c = 0; c < classes; ++c) {
    auto const row = std::lower_bound(out.begin(), out.end(), likeness.centre_of(c),
                                      [](TimelineRow const& r, int id) { return r.rank_class < id; });
    row->classes.push_back(static_cast<int>(c));
    row->ranks += static_cast<int>(log.rank_classes[c].ranks.size());
    row->spread = max(row->spread, likeness.distance_of(c));
  }
  return out;
}

std::vector<std::vector<RowSegment>> segments_of(EventLog const& log, std::vector<int> const& rank_classes,
                                                 TimeRange range) {
  std::vector<int> row_of(log.rank_classes.size(), -1);
  for (std::size_t i = 0; i < rank_classes.size(); ++i)
    row_of[static_cast<std::size_t>(rank_classes[i])] = static_cast<int>(i);
  std::vector<std::vector<Edge>> edges(rank_classes.size());
  for (std::size_t i = 0; i < log.spans.size(); ++i) {
    Span const& s = log.spans[i];
    int const row = row_of[static_cast<std::size_t>(s.rank_class)];
    Seconds const start = max(s.start, range.start);
    Seconds const end = min(s.end, range.end);
    if (row < 0 || s.stream == Stream::storage || !(start < end)) continue;
    edges[static_cast<std::size_t>(row)].push_back({start, true, i});
    edges[static_cast<std::size_t>(row)].push_back({end, false, i});
  }
  std::vector<std::vector<RowSegment>> out;
  for (std::vector<Edge>& of_row : edges) out.push_back(disjoint(log, of_row));
  return out;
}

std::vector<RowSegment> coarsened(std::vector<RowSegment> const& segments, Seconds grain, bool across) {
  std::vector<RowSegment> out;
  Gathered group;
  auto const close = [&] {
    if (!group.empty()) out.push_back(group.take());
  };
  for (RowSegment const& s : segments) {
    bool const is_short = s.end - s.start < grain;
    if (!is_short || !group.takes(s, grain, across)) close();
    if (is_short) {
      group.add(s);
    } else {
      out.push_back(s);
    }
  }
  close();
  return out;
}

StepTimeline step_timeline(EventLog const& log, std::size_t rows, std::size_t segments) {
  StepTimeline out;
  out.shown = shown_steps(log);
  out.classes = log.rank_classes.size();
  out.rows = rows_by_likeness(log, rows, classes_of_causes(log));
  std::vector<int> shown_classes;
  for (TimelineRow const& r : out.rows) shown_classes.push_back(r.rank_class);
  auto const fine = segments_of(log, shown_classes, out.shown.range);
  Seconds const length = out.shown.range.end - out.shown.range.start;
  // A row has at most about three segments for each grain of the range, so that this ends.
  while (coarsen_all(fine, out.grain, length * 1e-3 < out.grain, out.rows) > segments && out.grain < length)
    out.grain = out.grain.value > 0 ? out.grain * 2 : length * 1e-5;
  return out;
}

}  // namespace rollcast
