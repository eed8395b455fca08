#include "reports/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "models/quantile.hpp"
#include "models/roles.hpp"
#include "reports/critical_path.hpp"
#include "reports/memory_peaks.hpp"
#include "reports/phase_windows.hpp"
#include "reports/serving_columns.hpp"
#include "reports/step_peak.hpp"

namespace rollcast {
namespace {

struct Horizon {
  Seconds start;
  Seconds end;
};

Horizon horizon_of(EventLog const& log) {
  Horizon h{Seconds(0), Seconds(0)};
  bool first = true;
  auto const widen = [&](Seconds start, Seconds end) {
    h.start = first ? start : min(h.start, start);
    h.end = first ? end : max(h.end, end);
    first = false;
  };
  if (!log.steps.empty()) {
    for (StepRecord const& s : log.steps) widen(s.start, s.end);
  } else {
    for (Span const& s : log.spans) widen(s.start, s.end);
  }
  return h;
}

StepTimes step_times(EventLog const& log) {
  StepTimes t;
  t.steps = static_cast<int>(log.steps.size());
  if (t.steps == 0) return t;
  std::vector<Seconds> sorted;
  for (StepRecord const& s : log.steps) {
    sorted.push_back(s.end - s.start);
    t.mean += sorted.back();
  }
  t.mean /= t.steps;
  std::sort(sorted.begin(), sorted.end());
  t.p10 = interpolated_quantile(sorted, 0.1);
  t.p50 = interpolated_quantile(sorted, 0.5);
  t.p90 = interpolated_quantile(sorted, 0.9);
  return t;
}

void add_throughput(EventLog const& log, Analysis& a) {
  Seconds time;
  std::int64_t tokens = 0;
  std::int64_t samples = 0;
  std::int64_t responses = 0;
  for (StepRecord const& s : log.steps) {
    time += s.end - s.start;
    tokens += s.prompt_tokens + s.response_tokens;
    samples += s.samples;
    responses += s.response_tokens;
    a.preemptions += s.preemptions;
  }
  if (samples > 0) a.mean_response_tokens = static_cast<double>(responses) / static_cast<double>(samples);
  if (time < us(0.001)) return;
  if (a.gpus > 0)
    a.tokens_per_second_per_gpu = static_cast<double>(tokens) / (time.value * static_cast<double>(a.gpus));
  a.samples_per_second = static_cast<double>(samples) / time.value;
  a.gpu_hours_per_step = static_cast<double>(a.gpus) * a.step.mean.value / 3600;
}

// Windows of completed steps; of all steps while none is completed.
std::vector<PhaseWindow> counted_windows(EventLog const& log) {
  std::vector<PhaseWindow> out;
  for (PhaseWindow const& w : log.phases) {
    if (log.steps.empty() || static_cast<std::size_t>(w.step) < log.steps.size()) out.push_back(w);
  }
  return in_order(std::move(out));
}

std::vector<PhaseTime> phase_times(EventLog const& log, std::vector<std::vector<Segment>> const& lines) {
  auto const windows = counted_windows(log);
  auto const exposed = exposed_times(windows);
  std::vector<double> pool_ranks(log.pools.size(), 0);
  for (RankClassInfo const& c : log.rank_classes)
    pool_ranks[static_cast<std::size_t>(c.pool)] += static_cast<double>(c.ranks.size());

  std::vector<PhaseTime> out;
  std::set<int> steps;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    PhaseWindow const& w = windows[i];
    steps.insert(w.step);
    auto p = std::find_if(out.begin(), out.end(),
                          [&](PhaseTime const& t) { return t.phase == w.phase && t.pool == w.pool; });
    if (p == out.end()) p = out.insert(out.end(), PhaseTime{w.phase, w.pool, {}, {}, {}});
    p->mean += w.end - w.start;
    p->exposed += exposed[i];
    for (std::size_t c = 0; c < lines.size(); ++c) {
      RankClassInfo const& info = log.rank_classes[c];
      if (info.pool != w.pool) continue;
      double const weight =
          static_cast<double>(info.ranks.size()) / pool_ranks[static_cast<std::size_t>(w.pool)];
      ActivityTimes const times = time_by_activity(lines[c], w.start, w.end);
      for (std::size_t k = 0; k < kActivities; ++k) p->by_activity[k] += times[k] * weight;
    }
  }
  double const count = static_cast<double>(log.steps.empty() ? steps.size() : log.steps.size());
  for (PhaseTime& p : out) {
    p.mean /= count;
    p.exposed /= count;
    for (Seconds& s : p.by_activity) s /= count;
  }
  return out;
}

double share_within(Span const& s, Horizon h) {
  Seconds const length = s.end - s.start;
  if (!(Seconds(0) < length)) return s.start < h.start || h.end < s.start ? 0 : 1;
  Seconds const inside = min(s.end, h.end) - max(s.start, h.start);
  return max(inside, Seconds(0)) / length;
}

// 0 where the whole is 0 (a pool without GPUs, time or a known peak uses nothing) or too small to divide by.
double fraction(double part, double whole) {
  double const f = part / whole;
  return whole > 0 && std::isfinite(f) ? f : 0;
}

std::vector<PoolUse> pool_uses(EventLog const& log, std::vector<std::vector<Segment>> const& lines) {
  Horizon const h = horizon_of(log);
  std::vector<PoolUse> out;
  std::vector<ActivityTimes> times(log.pools.size());
  std::vector<double> rank_time(log.pools.size(), 0);
  std::vector<Flops> flops(log.pools.size());
  std::vector<Bytes> hbm(log.pools.size());
  for (std::size_t c = 0; c < lines.size(); ++c) {
    RankClassInfo const& info = log.rank_classes[c];
    auto const pool = static_cast<std::size_t>(info.pool);
    auto const ranks = static_cast<double>(info.ranks.size());
    rank_time[pool] += ranks * (h.end - h.start).value;
    ActivityTimes const of_class = time_by_activity(lines[c], h.start, h.end);
    for (std::size_t k = 0; k < kActivities; ++k) times[pool][k] += of_class[k] * ranks;
  }
  for (Span const& s : log.spans) {
    RankClassInfo const& info = log.rank_classes[static_cast<std::size_t>(s.rank_class)];
    double const amount = static_cast<double>(info.ranks.size()) * share_within(s, h);
    flops[static_cast<std::size_t>(info.pool)] += s.flops * amount;
    if (s.phase == Phase::generate) hbm[static_cast<std::size_t>(info.pool)] += s.hbm * amount;
  }
  std::vector<PhaseWindow> const windows = counted_windows(log);
  for (std::size_t i = 0; i < log.pools.size(); ++i) {
    PoolInfo const& p = log.pools[i];
    PoolUse u{p.name, p.node, p.gpu, p.gpus, 0, {}, 0, 0, p.capacity, {}, p.prices};
    double accounted = 0;
    for (std::size_t k = 0; k < kActivities; ++k) {
      double const f = fraction(times[i][k].value, rank_time[i]);
      accounted += f;
      if (is_work(static_cast<Activity>(k))) {
        u.busy_fraction += f;
      } else {
        u.idle_by_cause.emplace_back(name_of(static_cast<Activity>(k)), f);
      }
    }
    u.idle_by_cause.emplace_back("unaccounted", std::max(0.0, 1 - accounted));
    u.mfu = fraction(flops[i].value, p.peak_flops.value * (h.end - h.start).value * p.gpus);
    Seconds const generating = covered_time(windows, static_cast<int>(i), Phase::generate);
    u.mbu = fraction(hbm[i].value, p.memory_bandwidth.value * generating.value * p.gpus);
    out.push_back(std::move(u));
  }
  return out;
}

bool is_switch(Phase p) { return p == Phase::wake || p == Phase::sleep || p == Phase::weight_sync; }

std::vector<Lever> find_levers(Analysis const& a) {
  constexpr std::pair<Activity, LeverKind> kCauses[] = {
      {Activity::rollout_tail, LeverKind::rollout_tail},
      {Activity::pipeline_bubble, LeverKind::pipeline_bubble},
      {Activity::collective_wait, LeverKind::collective_wait},
      {Activity::phase_wait, LeverKind::phase_wait},
      {Activity::communication, LeverKind::communication},
      {Activity::driver, LeverKind::driver}};
  std::vector<Lever> out;
  for (int pool = 0; pool < static_cast<int>(a.pools.size()); ++pool) {
    Seconds switching;
    ActivityTimes elsewhere{};
    for (PhaseTime const& p : a.phases) {
      if (p.pool != pool) continue;
      if (is_switch(p.phase)) {
        switching += p.exposed;
      } else {
        for (std::size_t k = 0; k < kActivities; ++k) elsewhere[k] += p.by_activity[k];
      }
    }
    out.push_back({LeverKind::switching, pool, switching});
    for (auto const& [activity, kind] : kCauses) out.push_back({kind, pool, elsewhere[index_of(activity)]});
  }
  std::erase_if(out, [&](Lever const& l) { return l.at_most < a.step.mean * 0.01 || a.step.steps == 0; });
  std::stable_sort(out.begin(), out.end(),
                   [](Lever const& x, Lever const& y) { return y.at_most < x.at_most; });
  return out;
}

// Mean seconds of the phases that `named` accepts; nothing if the run has none of them. A weight sync between
// pools is a phase of both at the same time, and counts once.
template <class Named>
std::optional<double> phase_forecast(Analysis const& a, Named const& named) {
  std::optional<double> sum;
  bool synced = false;
  for (PhaseTime const& p : a.phases) {
    if (!named(p.phase)) continue;
    if (p.phase == Phase::weight_sync && std::exchange(synced, true)) continue;
    sum = sum.value_or(0) + (p.phase == Phase::weight_sync ? sync_time(a) : p.mean).value;
  }
  return sum;
}

double peak_gib(Analysis const& a, Bytes LedgerPeak::*part) {
  Bytes most;
  for (LedgerPeak const& l : a.ledgers) most = max(most, l.*part);
  return most / GiB(1);
}

// The phases that a measured figure sums up under a name of its own.
std::vector<Phase> phases_of(std::string_view sum) {
  if (sum == "logprob") return {Phase::old_logprob, Phase::reference};
  if (sum == "experience")
    return {Phase::generate, Phase::score, Phase::old_logprob, Phase::reference, Phase::values};
  if (sum == "update") return {Phase::update_actor, Phase::update_critic};
  if (sum == "generate_and_update") return {Phase::generate, Phase::update_actor, Phase::update_critic};
  if (sum == "refit") return {Phase::weight_sync, Phase::wake};
  if (sum == "switch") return {Phase::sleep, Phase::wake, Phase::weight_sync};
  return {};
}

std::optional<int> pool_of_phase(Analysis const& a, Phase phase) {
  for (PhaseTime const& p : a.phases) {
    if (p.phase == phase) return p.pool;
  }
  return std::nullopt;
}

// Per step, the phase_wait of the actor's pool outside its own phases: inside them it is stragglers.
std::optional<double> generate_wait(Analysis const& a) {
  auto const trainer = pool_of_phase(a, Phase::update_actor);
  auto const rollout = pool_of_phase(a, Phase::generate);
  if (!trainer || !rollout || *trainer == *rollout) return std::nullopt;
  double wait = 0;
  for (auto const& [cause, share] : a.pools[static_cast<std::size_t>(*trainer)].idle_by_cause) {
    if (cause == name_of(Activity::phase_wait)) wait = share * a.step.mean.value;
  }
  for (PhaseTime const& p : a.phases) {
    if (p.pool == *trainer) wait -= p.by_activity[index_of(Activity::phase_wait)].value;
  }
  return std::max(0.0, wait);
}

std::optional<double> forecast_of(Analysis const& a, std::string_view name) {
  if (name == "peak_gpu_memory_gib" && !a.ledgers.empty()) return peak_gib(a, &LedgerPeak::bytes);
  if ((name == "peak_torch_memory_gib" || name == kStepPeak) && !a.ledgers.empty())
    return peak_gib(a, &LedgerPeak::trainer_tensors);
  if (a.serving) {
    auto const column = serving_column(name);
    auto const headline = serving_headline(*a.serving);
    if (column && headline) return (*headline)[*column];
  }
  if (a.step.steps == 0) return std::nullopt;
  if (name == "step_seconds") return a.step.mean.value;
  if (name == "tokens_per_second_per_gpu") return a.tokens_per_second_per_gpu;
  if (name == "samples_per_second") return a.samples_per_second;
  if (name == "gpu_hours_per_step") return a.gpu_hours_per_step;
  if (name == "mean_response_tokens") return a.mean_response_tokens;
  if (a.pools.size() == 1) {
    if (name == "busy_fraction") return a.pools[0].busy_fraction;
    if (name == "mfu") return a.pools[0].mfu;
    if (name == "mbu") return a.pools[0].mbu;
  }
  if (name == "generate_wait_seconds") return generate_wait(a);
  constexpr std::string_view kSuffix = "_seconds";
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  return phase_forecast(a, [&](Phase p) { return name_of(p) == name || contains(phases_of(name), p); });
}

// Checkpoints come after a step, when nothing else works.
std::optional<GoodputReport> long_run_of(EventLog const& log, Analysis const& a) {
  if (!log.long_run || a.outcome != Outcome::completed || a.step.steps == 0) return std::nullopt;
  Seconds step = a.step.mean;
  for (PhaseTime const& p : a.phases) {
    if (p.phase == Phase::checkpoint) step -= p.mean;
  }
  return goodput_report(*log.long_run, step, a.gpus, a.seed);
}

}  // namespace

Seconds sync_time(Analysis const& a) {
  Seconds longest;
  for (PhaseTime const& p : a.phases) {
    if (p.phase == Phase::weight_sync) longest = max(longest, p.mean);
  }
  return longest;
}

std::optional<double> sync_over_wire(Analysis const& a) {
  if (!a.weight_sync || !(a.weight_sync->wire.value > 0)) return std::nullopt;
  return sync_time(a) / a.weight_sync->wire;
}

Analysis analyse(EventLog const& log) {
  Analysis a;
  a.scenario = log.scenario;
  a.seed = log.seed;
  a.outcome = log.outcome;
  a.outcome_reason = log.outcome_reason;
  a.notes = log.notes;
  for (PoolInfo const& p : log.pools) a.gpus += p.gpus;
  a.step = step_times(log);
  auto const lines = timelines(log);
  a.phases = phase_times(log, lines);
  a.weight_sync = sync_breakdown(log);
  add_throughput(log, a);
  a.samples = sample_use(log.steps);
  a.pools = pool_uses(log, lines);
  a.ledgers = memory_peaks(log);
  for (std::size_t i = 0; i < a.ledgers.size(); ++i) {
    std::optional<std::size_t>& peak = a.pools[static_cast<std::size_t>(a.ledgers[i].pool)].peak;
    if (!peak || a.ledgers[*peak].bytes < a.ledgers[i].bytes) peak = i;
  }
  a.ooms = log.ooms;
  a.failures = log.failures;
  a.stalls = log.stalls;
  a.happenings = log.happenings;
  a.remedies = log.remedies;
  a.critical_path = critical_path(log, lines);
  if (log.serving) {
    Horizon const h = horizon_of(log);
    a.serving = serving_figures(*log.serving, h.end - h.start, a.gpus);
  } else {
    a.levers = find_levers(a);
  }
  a.long_run = long_run_of(log, a);
  for (auto const& [name, value] : log.measured) a.measured.push_back({name, value, forecast_of(a, name)});
  a.measured_source = log.measured_source;
  return a;
}

}  // namespace rollcast
