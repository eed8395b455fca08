#include "reports/html_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/html_curves.hpp"
#include "reports/json_values.hpp"
#include "reports/text_layout.hpp"
#include "reports/timeline.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

// Bounds of what goes into a page.
constexpr std::size_t kRows = 64;
constexpr std::size_t kSegments = 8000;
constexpr std::size_t kWindows = 2000;
constexpr std::size_t kMarks = 40;
constexpr std::size_t kEngineCells = 400;
constexpr std::size_t kLinkCells = 300;
constexpr std::size_t kLinkSeries = 8;
constexpr std::size_t kMemoryCurves = 6;
constexpr std::size_t kMemoryPoints = 400;
constexpr std::size_t kNameLength = 120;

std::string shown(std::string_view text) {
  return text.size() <= kNameLength ? printable(text) : printable(text.substr(0, kNameLength)) + "...";
}

// Four significant digits are more than a curve shows.
Json rounded(double v) {
  if (!(std::fabs(v) > 0)) return 0;
  double const unit = std::pow(10, std::floor(std::log10(std::fabs(v))) - 3);
  return nine_digits(std::round(v / unit) * unit);
}

Json rounded(std::vector<double> const& values) {
  Json out = Json::array();
  for (double v : values) out.push_back(rounded(v));
  return out;
}

// A power of ten of which the range has about a million.
double tick_of(TimeRange r) {
  double const length = (r.end - r.start).value;
  return length > 0 ? std::pow(10, std::floor(std::log10(length)) - 6) : 1;
}

// Numbers of labels in the order of their use.
class Labels {
 public:
  explicit Labels(EventLog const& log) : log_(log) {}
  std::size_t number(int label) {
    auto const [at, is_new] = numbers_.emplace(label, numbers_.size());
    if (is_new) names_.push_back(shown(log_.labels[static_cast<std::size_t>(label)]));
    return at->second;
  }
  Json names() const { return names_; }

 private:
  EventLog const& log_;
  std::map<int, std::size_t> numbers_;
  Json names_ = Json::array();
};

Json segment_json(RowSegment const& s, TimeRange range, double tick, Labels& labels) {
  auto const start = std::llround((s.start - range.start).value / tick);
  auto const end = std::llround((s.end - range.start).value / tick);
  Json out = {start, end - start, static_cast<int>(s.phase), static_cast<int>(s.activity), s.step};
  if (s.mix.size() == 1 && s.mix.front().share >= 1) {
    out.push_back(labels.number(s.mix.front().label));
    return out;
  }
  Json mix = Json::array();
  for (MixPart const& m : s.mix)
    mix.push_back({static_cast<int>(m.activity), labels.number(m.label), std::lround(m.share * 100)});
  out.push_back(mix);
  return out;
}

std::string row_name(EventLog const& log, TimelineRow const& r) {
  std::string const own = shown(log.rank_classes[static_cast<std::size_t>(r.rank_class)].name);
  return r.classes.size() == 1 ? own : fmt::format("{} (for {} ranks)", own, r.ranks);
}

std::string note_of(StepTimeline const& t) {
  if (t.classes == t.rows.size()) return {};
  Seconds spread;
  for (TimelineRow const& r : t.rows) spread = max(spread, r.spread);
  return fmt::format(
      "{} rank classes (ranks with the same times) are shown as {} rows. A row is one of them; it stands for "
      "those whose times in all phases and activities are nearest to its own, {} apart in all at most. Those "
      "that differ most have rows of their own.",
      t.classes, t.rows.size(), format(spread));
}

Json windows_json(EventLog const& log, TimeRange range, double tick) {
  Json out = Json::array();
  for (PhaseWindow const& w : log.phases) {
    Seconds const start = max(w.start, range.start);
    Seconds const end = min(w.end, range.end);
    if (!(start < end) || out.size() == kWindows) continue;
    auto const from = std::llround((start - range.start).value / tick);
    out.push_back({w.pool, w.step, static_cast<int>(w.phase), from,
                   std::llround((end - range.start).value / tick) - from});
  }
  return out;
}

Json marks_json(EventLog const& log) {
  Json out = Json::array();
  for (Happening const& h : log.happenings) {
    if (out.size() < kMarks) out.push_back({{"time", number(h.time)}, {"text", shown(h.what)}});
  }
  if (out.empty() && !log.ooms.empty())
    out.push_back({{"time", number(log.ooms.front().time)}, {"text", "out of memory"}});
  return out;
}

Json phase_names() {
  Json out = Json::array();
  for (Phase p : all_phases()) out.push_back(name_of(p));
  return out;
}

Json activity_names() {
  Json out = Json::array();
  for (std::size_t k = 0; k < kActivities; ++k) out.push_back(name_of(static_cast<Activity>(k)));
  return out;
}

Json points_json(MemoryPoints const& points) {
  Json out = Json::array();
  for (auto const& [time, bytes] : points) out.push_back({number(time), rounded(bytes / GiB(1))});
  return out;
}

Json oom_json(RankLedger const& ledger, std::optional<OomRecord> const& o) {
  if (!o) return nullptr;
  return {{"time", number(o->time)},
          {"gib", rounded((ledger.capacity - o->free + o->requested) / GiB(1))},
          {"text", shown(needs_text(*o))}};
}

}  // namespace

Json timeline_json(EventLog const& log) {
  StepTimeline const t = step_timeline(log, kRows, kSegments);
  TimeRange const range = t.shown.range;
  double const tick = tick_of(range);
  Labels labels(log);
  Json rows = Json::array();
  for (TimelineRow const& r : t.rows) {
    Json segments = Json::array();
    for (RowSegment const& s : r.segments) segments.push_back(segment_json(s, range, tick, labels));
    rows.push_back({{"name", row_name(log, r)},
                    {"pool", log.rank_classes[static_cast<std::size_t>(r.rank_class)].pool},
                    {"ranks", r.ranks},
                    {"classes", r.classes.size()},
                    {"spread", number(r.spread)},
                    {"segments", segments}});
  }
  return {{"name", t.shown.name},
          {"start", number(range.start)},
          {"end", number(range.end)},
          {"tick", tick},
          {"grain", number(t.grain)},
          {"classes", t.classes},
          {"note", note_of(t)},
          {"phases", phase_names()},
          {"activities", activity_names()},
          {"labels", labels.names()},
          {"windows", windows_json(log, range, tick)},
          {"rows", rows},
          {"marks", marks_json(log)}};
}

Json engines_json(EventLog const& log, TimeRange range) {
  Json out = Json::array();
  int pool = -1;
  for (EngineCurve const& c : engine_curves(log, range, kEngineCells)) {
    if (c.pool != pool) {
      out.push_back({{"pool", shown(log.pools[static_cast<std::size_t>(c.pool)].name)},
                     {"engines", c.engines},
                     {"cell", number((range.end - range.start) / static_cast<double>(kEngineCells))}});
      pool = c.pool;
    }
    out.back()[std::string(name_of(c.kind))] = {
        {"mean", rounded(c.mean)}, {"low", rounded(c.low)}, {"high", rounded(c.high)}};
  }
  return out;
}

Json memory_series_json(EventLog const& log, TimeRange range) {
  Json out = Json::array();
  for (MemoryCurve const& m : memory_curves(log, range, kMemoryCurves, kMemoryPoints)) {
    RankLedger const& ledger = log.ledgers[m.ledger];
    RankClassInfo const& of = log.rank_classes[static_cast<std::size_t>(m.rank_class)];
    Json times = Json::array();
    for (Seconds t : m.times) times.push_back(number(t));
    Json series = Json::array();
    for (MemorySeries const& s : m.series) {
      Json values = Json::array();
      for (Bytes b : s.bytes) values.push_back(rounded(b / GiB(1)));
      series.push_back(
          {{"name", fmt::format("{} {}", name_of(s.role), name_of(s.category))}, {"gib", values}});
    }
    out.push_back({{"name", shown(ledger.name)},
                   {"pool", shown(log.pools[static_cast<std::size_t>(of.pool)].name)},
                   {"ranks", ledger.ranks},
                   {"rank", m.oom ? m.oom->rank : of.ranks.front()},
                   {"capacity", rounded(ledger.capacity / GiB(1))},
                   {"times", times},
                   {"series", series},
                   {"allocated", points_json(m.allocated)},
                   {"reserved", points_json(m.reserved)},
                   {"oom", oom_json(ledger, m.oom)}});
  }
  return out;
}

Json links_json(EventLog const& log, TimeRange range) {
  Json out = Json::array();
  for (LinkUse const& use : link_uses(log, range, kLinkCells, kLinkSeries)) {
    Json series = Json::array();
    for (LinkSeries const& s : use.series) {
      series.push_back({{"label", shown(s.label)},
                        {"stream", name_of(s.stream)},
                        {"seconds", log.steps.empty() ? Json() : rounded(s.of_step.value)},
                        {"share", rounded(s.share)}});
    }
    out.push_back({{"pool", shown(log.pools[static_cast<std::size_t>(use.pool)].name)},
                   {"cell", number((range.end - range.start) / static_cast<double>(kLinkCells))},
                   {"series", series}});
  }
  return out;
}

}  // namespace rollcast
