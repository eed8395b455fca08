#include "reports/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "reports/json.hpp"
#include "reports/timeline.hpp"
#include "reports/trace_tracks.hpp"

namespace rollcast {
namespace {

constexpr int kPhasesProcess = 1;
constexpr int kFirstNodeProcess = 2;
constexpr int kStreams = 5;

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Microseconds with three decimals, from integers: exact.
std::string micros(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

// JSON: a number, or "warm-up".
std::string step_json(int step) { return step < 0 ? R"("warm-up")" : std::to_string(step); }

struct Event {
  std::int64_t ns = 0;
  std::string text;
};

struct Track {
  int process = 0;
  int thread = 0;
};

class Trace {
 public:
  void name_process(int process, std::string const& name, int sort_index) {
    metadata(fmt::format(R"("ph":"M","pid":{},"name":"process_name","args":{{"name":{}}})", process,
                         json_string(name)));
    metadata(fmt::format(R"("ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}})",
                         process, sort_index));
  }
  // A new track; tracks of a process are shown in the order of their making.
  Track add_track(int process, std::string const& name) {
    int const thread = ++threads_;
    metadata(fmt::format(R"("ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}})", process,
                         thread, json_string(name)));
    metadata(
        fmt::format(R"("ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}})",
                    process, thread, thread));
    return {process, thread};
  }
  void add(std::int64_t ns, std::string text) { events_.push_back({ns, std::move(text)}); }

  std::string text(std::string const& scenario, std::string const& prices) && {
    std::stable_sort(events_.begin(), events_.end(),
                     [](Event const& a, Event const& b) { return a.ns < b.ns; });
    std::string out =
        fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"scenario\":{}{}}},\"traceEvents\":[\n",
                    json_string(scenario), prices.empty() ? "" : ",\"prices\":" + json_string(prices));
    out += metadata_;
    for (Event const& e : events_)
      fmt::format_to(std::back_inserter(out), ",\n{{\"ts\":{},{}}}", micros(e.ns), e.text);
    return out + "\n]}\n";
  }

 private:
  void metadata(std::string const& fields) {
    if (!metadata_.empty()) metadata_ += ",\n";
    metadata_ += '{' + fields + '}';
  }

  std::string metadata_;
  std::vector<Event> events_;
  int threads_ = 0;
};

int process_of(RankClassInfo const& c) { return kFirstNodeProcess + c.node; }

void name_processes(EventLog const& log, Trace& t) {
  std::map<int, int> pool_of_node;
  for (RankClassInfo const& c : log.rank_classes) pool_of_node.try_emplace(c.node, c.pool);
  t.name_process(kPhasesProcess, "phases", 0);
  for (auto const& [node, pool] : pool_of_node) {
    PoolInfo const& p = log.pools[static_cast<std::size_t>(pool)];
    t.name_process(kFirstNodeProcess + node, fmt::format("node {} ({}, {})", node, p.name, p.node), node + 1);
  }
}

// The tracks of one set of slices, one per lane.
std::vector<Track> lanes_of(std::vector<Slice> const& slices, int process, std::string const& name,
                            Trace& t) {
  int lanes = 0;
  for (Slice const& s : slices) lanes = std::max(lanes, s.lane + 1);
  std::vector<Track> out;
  out.reserve(static_cast<std::size_t>(lanes));
  for (int lane = 0; lane < lanes; ++lane)
    out.push_back(t.add_track(process, lane == 0 ? name : fmt::format("{} ({})", name, lane + 1)));
  return out;
}

void add_phases(EventLog const& log, Trace& t) {
  for (std::size_t pool = 0; pool < log.pools.size(); ++pool) {
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < log.phases.size(); ++i) {
      PhaseWindow const& w = log.phases[i];
      Slice const s{nanoseconds(w.start.value), nanoseconds(w.end.value), i, 0};
      if (static_cast<std::size_t>(w.pool) == pool && s.start < s.end) slices.push_back(s);
    }
    assign_lanes(slices);
    auto const tracks = lanes_of(slices, kPhasesProcess, log.pools[pool].name, t);
    for (Slice const& s : slices) {
      PhaseWindow const& w = log.phases[s.item];
      t.add(
          s.start,
          fmt::format(R"("ph":"X","dur":{},"pid":{},"tid":{},"name":"{}","cat":"phase","args":{{"step":{}}})",
                      micros(s.end - s.start), kPhasesProcess,
                      tracks[static_cast<std::size_t>(s.lane)].thread, name_of(w.phase), step_json(w.step)));
    }
  }
}

// A work slice of a rank class as the arrows see it.
struct Anchor {
  std::int64_t start = 0;
  std::int64_t end = 0;
  Phase phase = Phase::generate;
  Track track;
};
using Anchors = std::vector<std::vector<Anchor>>;

std::string span_text(EventLog const& log, Span const& s, Slice const& slice, Track track) {
  std::string out = fmt::format(
      R"("ph":"X","dur":{},"pid":{},"tid":{},"name":{},"cat":"{}","args":{{"step":{},"phase":"{}","activity":"{}")",
      micros(slice.end - slice.start), track.process, track.thread,
      json_string(log.labels[static_cast<std::size_t>(s.label)]), name_of(s.activity), step_json(s.step),
      name_of(s.phase), name_of(s.activity));
  auto const to = std::back_inserter(out);
  if (s.flops.value > 0) fmt::format_to(to, ",\"TFLOPs\":{}", nine_digits(s.flops.value / 1e12));
  if (s.hbm.value > 0) fmt::format_to(to, ",\"HBM GB\":{}", nine_digits(s.hbm.value / 1e9));
  return out + '}';
}

Anchors add_spans(EventLog const& log, Trace& t) {
  std::vector<std::vector<Slice>> of_track(log.rank_classes.size() * kStreams);
  for (std::size_t i = 0; i < log.spans.size(); ++i) {
    Span const& s = log.spans[i];
    Slice const slice{nanoseconds(s.start.value), nanoseconds(s.end.value), i, 0};
    auto const track = static_cast<std::size_t>(s.rank_class) * kStreams + static_cast<std::size_t>(s.stream);
    if (slice.start < slice.end) of_track[track].push_back(slice);
  }
  Anchors anchors(log.rank_classes.size());
  for (std::size_t i = 0; i < of_track.size(); ++i) {
    auto& slices = of_track[i];
    assign_lanes(slices);
    std::size_t const rank_class = i / kStreams;
    RankClassInfo const& c = log.rank_classes[rank_class];
    auto const stream = static_cast<Stream>(i % kStreams);
    auto const tracks = lanes_of(slices, process_of(c), fmt::format("{} {}", c.name, name_of(stream)), t);
    for (Slice const& slice : slices) {
      Span const& s = log.spans[slice.item];
      Track const track = tracks[static_cast<std::size_t>(slice.lane)];
      t.add(slice.start, span_text(log, s, slice, track));
      if (is_work(s.activity) && s.stream != Stream::storage)
        anchors[rank_class].push_back({slice.start, slice.end, s.phase, track});
    }
  }
  for (auto& of_class : anchors) {
    std::stable_sort(of_class.begin(), of_class.end(),
                     [](Anchor const& a, Anchor const& b) { return a.start < b.start; });
  }
  return anchors;
}

void add_counters(EventLog const& log, Trace& t) {
  std::vector<std::size_t> order(log.counters.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return log.counters[a].time < log.counters[b].time; });
  // Every memory event tells all series of its rank class, as the viewers stack what one event holds.
  std::vector<std::map<std::pair<Role, MemoryCategory>, double>> memory(log.rank_classes.size());
  for (std::size_t const n : order) {
    Counter const& c = log.counters[n];
    RankClassInfo const& info = log.rank_classes[static_cast<std::size_t>(c.rank_class)];
    std::int64_t const ns = nanoseconds(c.time.value);
    bool const torch = c.kind == CounterKind::torch_allocated || c.kind == CounterKind::torch_reserved;
    double const shown = torch ? c.value / GiB(1).value : c.value;
    std::string args = fmt::format("\"value\":{}", nine_digits(shown));
    std::string name = fmt::format("{} {}{}", info.name, name_of(c.kind), torch ? " (GiB)" : "");
    if (c.kind == CounterKind::memory) {
      auto& series = memory[static_cast<std::size_t>(c.rank_class)];
      series[{c.role, c.category}] = c.value;
      args.clear();
      for (auto const& [key, value] : series) {
        fmt::format_to(std::back_inserter(args), "{}\"{}.{}\":{}", args.empty() ? "" : ",",
                       name_of(key.first), name_of(key.second), nine_digits(value / GiB(1).value));
      }
      name += " (GiB)";
    }
    t.add(ns, fmt::format(R"("ph":"C","pid":{},"name":{},"args":{{{}}})", process_of(info), json_string(name),
                          args));
  }
}

// The arrow's end lies inside the slice, off its edges, as viewers bind it to the slice around it.
std::int64_t inside(Anchor const& a, std::int64_t ns) {
  std::int64_t const margin = (a.end - a.start) / 100;
  return std::clamp(ns, a.start + margin, std::max(a.start + margin, a.end - 1 - margin));
}

// The generation slice that was running or had just ended at `ns`.
Anchor const* sender(std::vector<Anchor> const& anchors, std::int64_t ns) {
  auto a = std::upper_bound(anchors.begin(), anchors.end(), ns,
                            [](std::int64_t t, Anchor const& x) { return t < x.start; });
  while (a != anchors.begin()) {
    --a;
    if (a->phase == Phase::generate) return &*a;
  }
  return nullptr;
}

// The first slice outside generation that ends after `ns`. reach[i]: latest end among the first i + 1.
Anchor const* receiver(std::vector<Anchor> const& anchors, std::vector<std::int64_t> const& reach,
                       std::int64_t ns) {
  auto const first = std::upper_bound(reach.begin(), reach.end(), ns) - reach.begin();
  for (auto i = static_cast<std::size_t>(first); i < anchors.size(); ++i) {
    Phase const p = anchors[i].phase;
    bool const takes =
        p != Phase::generate && p != Phase::wake && p != Phase::sleep && p != Phase::weight_sync;
    if (takes && ns < anchors[i].end) return &anchors[i];
  }
  return nullptr;
}

void add_handovers(EventLog const& log, Anchors const& anchors, Trace& t) {
  std::vector<std::vector<std::int64_t>> reach(anchors.size());
  for (std::size_t c = 0; c < anchors.size(); ++c) {
    for (Anchor const& a : anchors[c])
      reach[c].push_back(reach[c].empty() ? a.end : std::max(reach[c].back(), a.end));
  }
  for (std::size_t i = 0; i < log.handovers.size(); ++i) {
    Handover const& h = log.handovers[i];
    auto const to_class = static_cast<std::size_t>(h.to_rank_class);
    Anchor const* from =
        sender(anchors[static_cast<std::size_t>(h.from_rank_class)], nanoseconds(h.sent.value));
    Anchor const* to = receiver(anchors[to_class], reach[to_class], nanoseconds(h.received.value));
    if (from == nullptr || to == nullptr) continue;
    std::int64_t const sent = inside(*from, nanoseconds(h.sent.value));
    std::int64_t const received = inside(*to, nanoseconds(h.received.value));
    if (received <= sent) continue;
    auto const end = [&](char const* ph, Anchor const& a) {
      return fmt::format(
          R"("ph":"{}","bp":"e","id":{},"pid":{},"tid":{},"name":"samples","cat":"handover","args":{{"step":{},"samples":{}}})",
          ph, i + 1, a.track.process, a.track.thread, step_json(h.step), h.samples);
    };
    t.add(sent, end("s", *from));
    t.add(received, end("f", *to));
  }
}

// Marks over all tracks.
void add_happenings(EventLog const& log, Trace& t) {
  for (Happening const& h : log.happenings) {
    t.add(nanoseconds(h.time.value),
          fmt::format(R"("ph":"i","s":"g","pid":{},"tid":0,"name":{},"cat":"incident")", kPhasesProcess,
                      json_string(h.what)));
  }
}

}  // namespace

std::string trace_text(EventLog const& log) {
  Trace t;
  name_processes(log, t);
  add_phases(log, t);
  Anchors const anchors = add_spans(log, t);
  add_counters(log, t);
  add_handovers(log, anchors, t);
  add_happenings(log, t);
  std::string prices;
  for (PoolInfo const& p : log.pools) {
    std::string const words = sentence(p.prices);
    if (!words.empty() && prices.find(words) == std::string::npos)
      prices += (prices.empty() ? "" : " ") + words;
  }
  return std::move(t).text(log.scenario, prices);
}

}  // namespace rollcast
