#include "reports/html_curves.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "reports/timeline.hpp"

namespace rollcast {
namespace {

// Equal parts of a range.
class Cells {
 public:
  Cells(TimeRange range, std::size_t count)
      : start_(range.start), width_((range.end - range.start) / static_cast<double>(count)), count_(count) {}

  // f(cell, part of [from, to) in it) for each cell that the interval touches.
  template <class F>
  void each(Seconds from, Seconds to, F const& f) const {
    if (!(width_.value > 0)) return;
    from = max(from, start_);
    to = min(to, start_ + width_ * static_cast<double>(count_));
    if (!(from < to)) return;
    for (std::size_t i = cell_of(from); i < count_; ++i) {
      Seconds const begin = start_ + width_ * static_cast<double>(i);
      Seconds const part = min(to, begin + width_) - max(from, begin);
      if (part.value > 0) f(i, part);
      if (!(begin + width_ < to)) break;
    }
  }
  std::size_t cell_of(Seconds t) const {
    if (!(width_.value > 0) || !(start_ < t)) return 0;
    return std::min(count_ - 1, static_cast<std::size_t>((t - start_) / width_));
  }
  Seconds width() const { return width_; }
  std::size_t count() const { return count_; }

 private:
  Seconds start_;
  Seconds width_;
  std::size_t count_;
};

bool of_engine(CounterKind k) {
  return k == CounterKind::running || k == CounterKind::waiting || k == CounterKind::kv_blocks;
}

// The counters of each class and kind by time, as indices into the log.
template <class Wanted>
std::map<std::tuple<int, CounterKind, int>, std::vector<std::size_t>> by_class(EventLog const& log,
                                                                               Wanted const& wanted) {
  std::map<std::tuple<int, CounterKind, int>, std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < log.counters.size(); ++i) {
    Counter const& c = log.counters[i];
    if (!wanted(c)) continue;
    int const pool = log.rank_classes[static_cast<std::size_t>(c.rank_class)].pool;
    out[{pool, c.kind, c.rank_class}].push_back(i);
  }
  for (auto& [key, of_class] : out) {
    std::stable_sort(of_class.begin(), of_class.end(), [&](std::size_t a, std::size_t b) {
      return log.counters[a].time < log.counters[b].time;
    });
  }
  return out;
}

void add_engine(EventLog const& log, std::vector<std::size_t> const& counters, Cells const& cells,
                TimeRange range, EngineCurve& curve) {
  double value = 0;
  Seconds since = range.start;
  auto const hold = [&](Seconds until) {
    cells.each(since, until, [&](std::size_t i, Seconds part) {
      curve.mean[i] += value * part.value;
      curve.low[i] = std::min(curve.low[i], value);
      curve.high[i] = std::max(curve.high[i], value);
    });
    since = max(since, until);
  };
  for (std::size_t n : counters) {
    hold(log.counters[n].time);
    value = log.counters[n].value;
  }
  hold(range.end);
}

// Indices of at most about twice `cells` of the points: the least and the most of each cell of time.
template <class Value>
std::vector<std::size_t> extremes(std::vector<Seconds> const& times, Value const& value, TimeRange range,
                                  std::size_t cells) {
  std::vector<std::size_t> out;
  if (times.size() <= cells) {
    for (std::size_t i = 0; i < times.size(); ++i) out.push_back(i);
    return out;
  }
  Cells const grid(range, cells);
  for (std::size_t i = 0; i < times.size();) {
    std::size_t const cell = grid.cell_of(times[i]);
    std::size_t least = i;
    std::size_t most = i;
    for (; i < times.size() && grid.cell_of(times[i]) == cell; ++i) {
      if (value(i) < value(least)) least = i;
      if (value(most) < value(i)) most = i;
    }
    out.push_back(std::min(least, most));
    if (least != most) out.push_back(std::max(least, most));
  }
  return out;
}

template <class T>
std::vector<T> picked(std::vector<T> const& values, std::vector<std::size_t> const& which) {
  std::vector<T> out;
  for (std::size_t i : which) out.push_back(values[i]);
  return out;
}

int pool_of(EventLog const& log, int rank_class) {
  return log.rank_classes[static_cast<std::size_t>(rank_class)].pool;
}

bool holds_rank(RankClassInfo const& c, int pool, int rank) {
  return c.pool == pool && std::find(c.ranks.begin(), c.ranks.end(), rank) != c.ranks.end();
}

// One class for each ledger and pool: that which runs out of memory, else whose allocator was followed, else
// the first.
std::vector<MemoryCurve> chosen_classes(EventLog const& log) {
  std::vector<char> followed(log.rank_classes.size(), 0);
  std::vector<char> counted(log.rank_classes.size(), 0);
  for (Counter const& c : log.counters) {
    auto const at = static_cast<std::size_t>(c.rank_class);
    if (c.kind == CounterKind::torch_reserved) followed[at] = 1;
    if (c.kind == CounterKind::memory) counted[at] = 1;
  }
  std::vector<MemoryCurve> out;
  std::vector<int> rank_of_choice;
  for (std::size_t c = 0; c < log.rank_classes.size(); ++c) {
    if (counted[c] == 0 || c >= log.ledger_of_class.size()) continue;
    auto const ledger = static_cast<std::size_t>(log.ledger_of_class[c]);
    int const id = static_cast<int>(c);
    std::optional<OomRecord> oom;
    for (OomRecord const& o : log.ooms) {
      if (!oom && o.kind != OomKind::host && holds_rank(log.rank_classes[c], o.pool, o.rank)) oom = o;
    }
    int const rank = oom ? 2 : followed[c];
    auto same = std::find_if(out.begin(), out.end(), [&](MemoryCurve const& m) {
      return m.ledger == ledger && pool_of(log, m.rank_class) == pool_of(log, id);
    });
    if (same == out.end()) {
      out.push_back({ledger, id, {}, {}, {}, {}, oom});
      rank_of_choice.push_back(rank);
    } else if (int& best = rank_of_choice[static_cast<std::size_t>(same - out.begin())]; best < rank) {
      best = rank;
      same->rank_class = id;
      same->oom = oom;
    }
  }
  return out;
}

void add_ledger_lines(EventLog const& log, std::vector<std::size_t> const& counters, TimeRange range,
                      std::size_t points, MemoryCurve& curve) {
  using Key = std::pair<Role, MemoryCategory>;
  std::map<Key, std::vector<Bytes>> series;
  std::vector<Bytes> sum;
  for (std::size_t n : counters) {
    Counter const& c = log.counters[n];
    if (curve.times.empty() || curve.times.back() < c.time) {
      curve.times.push_back(c.time);
      for (auto& [key, values] : series) values.push_back(values.empty() ? Bytes(0) : values.back());
    }
    auto& values = series[{c.role, c.category}];
    values.resize(curve.times.size());
    values.back() = Bytes(c.value);
  }
  sum.resize(curve.times.size());
  for (auto const& [key, values] : series) {
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
  }
  auto const kept = extremes(
      curve.times, [&](std::size_t i) { return sum[i]; }, range, points / 2);
  curve.times = picked(curve.times, kept);
  std::vector<std::pair<Bytes, MemorySeries>> ordered;
  for (auto const& [key, values] : series) {
    MemorySeries s{key.first, key.second, picked(values, kept)};
    Bytes const most = *std::max_element(s.bytes.begin(), s.bytes.end());
    if (most.value > 0) ordered.emplace_back(most, std::move(s));
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](auto const& a, auto const& b) { return b.first < a.first; });
  for (auto& [most, s] : ordered) curve.series.push_back(std::move(s));
}

MemoryPoints points_of(EventLog const& log, std::vector<std::size_t> const& counters, TimeRange range,
                       std::size_t points) {
  std::vector<Seconds> times;
  for (std::size_t n : counters) times.push_back(log.counters[n].time);
  auto const kept = extremes(
      times, [&](std::size_t i) { return log.counters[counters[i]].value; }, range, points / 2);
  MemoryPoints out;
  for (std::size_t i : kept) out.emplace_back(times[i], Bytes(log.counters[counters[i]].value));
  return out;
}

double fullness(EventLog const& log, MemoryCurve const& m) {
  if (m.oom) return std::numeric_limits<double>::infinity();
  RankLedger const& ledger = log.ledgers[m.ledger];
  return ledger.capacity.value > 0 ? peak(ledger).bytes / ledger.capacity : 0;
}

bool is_transfer(Stream s) { return s == Stream::communication || s == Stream::copy || s == Stream::storage; }

}  // namespace

std::vector<EngineCurve> engine_curves(EventLog const& log, TimeRange range, std::size_t cells) {
  Cells const grid(range, cells);
  std::vector<EngineCurve> out;
  for (auto const& [key, counters] : by_class(log, [](Counter const& c) { return of_engine(c.kind); })) {
    auto const [pool, kind, rank_class] = key;
    if (out.empty() || out.back().pool != pool || out.back().kind != kind) {
      out.push_back({pool, kind, 0, std::vector<double>(cells, 0),
                     std::vector<double>(cells, std::numeric_limits<double>::infinity()),
                     std::vector<double>(cells, 0)});
    }
    ++out.back().engines;
    add_engine(log, counters, grid, range, out.back());
  }
  for (EngineCurve& c : out) {
    double const whole = grid.width().value * static_cast<double>(c.engines);
    for (std::size_t i = 0; i < cells; ++i) {
      if (whole > 0) c.mean[i] /= whole;
      c.low[i] = std::min(c.low[i], c.high[i]);
    }
  }
  return out;
}

std::vector<MemoryCurve> memory_curves(EventLog const& log, TimeRange range, std::size_t most,
                                       std::size_t points) {
  std::vector<MemoryCurve> out = chosen_classes(log);
  std::stable_sort(out.begin(), out.end(), [&](MemoryCurve const& a, MemoryCurve const& b) {
    return fullness(log, b) < fullness(log, a);
  });
  if (out.size() > most) out.resize(most);
  auto const counters = by_class(log, [&](Counter const& c) {
    return !of_engine(c.kind) && std::any_of(out.begin(), out.end(), [&](MemoryCurve const& m) {
      return m.rank_class == c.rank_class;
    });
  });
  for (MemoryCurve& m : out) {
    int const pool = pool_of(log, m.rank_class);
    auto const of = [&](CounterKind kind) {
      auto const found = counters.find({pool, kind, m.rank_class});
      return found == counters.end() ? std::vector<std::size_t>() : found->second;
    };
    add_ledger_lines(log, of(CounterKind::memory), range, points, m);
    m.allocated = points_of(log, of(CounterKind::torch_allocated), range, points);
    m.reserved = points_of(log, of(CounterKind::torch_reserved), range, points);
  }
  return out;
}

std::vector<LinkUse> link_uses(EventLog const& log, TimeRange range, std::size_t cells, std::size_t most) {
  using Key = std::tuple<int, Stream, int>;  // pool, stream, label
  Cells const grid(range, cells);
  struct Use {
    std::vector<double> of_cell;  // GPU seconds
    double of_steps = 0;          // GPU seconds of the completed steps
  };
  std::map<Key, Use> uses;
  for (Span const& s : log.spans) {
    if (!is_transfer(s.stream) || !is_work(s.activity) || !(s.start < s.end)) continue;
    RankClassInfo const& info = log.rank_classes[static_cast<std::size_t>(s.rank_class)];
    Use& use = uses[{info.pool, s.stream, s.label}];
    use.of_cell.resize(cells);
    auto const ranks = static_cast<double>(info.ranks.size());
    grid.each(s.start, s.end, [&](std::size_t i, Seconds part) { use.of_cell[i] += part.value * ranks; });
    if (0 <= s.step && static_cast<std::size_t>(s.step) < log.steps.size())
      use.of_steps += (s.end - s.start).value * ranks;
  }
  std::vector<LinkUse> out;
  for (auto& [key, of_key] : uses) {
    auto const [pool, stream, label] = key;
    if (out.empty() || out.back().pool != pool) out.push_back({pool, {}});
    double const gpus = log.pools[static_cast<std::size_t>(pool)].gpus;
    double const steps = static_cast<double>(log.steps.size());
    LinkSeries s{log.labels[static_cast<std::size_t>(label)], stream, 0, {}, std::move(of_key.of_cell)};
    if (steps > 0 && gpus > 0) s.of_step = seconds(of_key.of_steps / gpus / steps);
    double const whole = grid.width().value * gpus;
    for (double& v : s.share) {
      v = whole > 0 ? v / whole : 0;
      s.share_of_time += v / static_cast<double>(cells);
    }
    out.back().series.push_back(std::move(s));
  }
  for (LinkUse& use : out) {
    std::stable_sort(use.series.begin(), use.series.end(), [](LinkSeries const& a, LinkSeries const& b) {
      return b.share_of_time < a.share_of_time;
    });
    if (use.series.size() <= most) continue;
    LinkSeries& other = use.series[most - 1];
    other.label = "other";
    for (std::size_t i = most; i < use.series.size(); ++i) {
      other.share_of_time += use.series[i].share_of_time;
      other.of_step += use.series[i].of_step;
      for (std::size_t k = 0; k < cells; ++k) other.share[k] += use.series[i].share[k];
    }
    use.series.resize(most);
  }
  return out;
}

}  // namespace rollcast
