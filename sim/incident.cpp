#include "sim/incident.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/pools.hpp"
#include "models/rank_text.hpp"

namespace rollcast {
namespace {

JobSize size_of_job(RunState const& run) {
  JobSize size;
  for (Pool const& p : pools_of(run.job)) {
    size.gpus += p.cluster.gpus();
    size.nodes += p.cluster.nodes;
    size.gpus_per_node.push_back(p.cluster.node.gpus);
    size.pools.push_back(p.name);
  }
  return size;
}

bool is_missing(Stall const& s, int pool, int rank) {
  return std::any_of(s.missing.begin(), s.missing.end(),
                     [&](MissingRank const& m) { return m.pool == pool && m.rank == rank; });
}

// The group with the first timer of those that wait for others; with none, that of most ranks.
int main_group(Stall const& s, WatchdogOptions const& w) {
  int best = -1;
  Seconds due;
  for (WaitingRank const& r : s.waiting) {
    if (is_missing(s, r.pool, r.rank)) continue;
    StalledGroup const& g = s.groups[static_cast<std::size_t>(r.group)];
    if (g.timer != GroupTimer::c10d) continue;
    Seconds const at = r.since + g.timeout.value_or(w.timeout);
    if (best >= 0 && !(at < due)) continue;
    best = r.group;
    due = at;
  }
  if (best >= 0) return best;
  std::map<int, int> count;
  for (WaitingRank const& r : s.waiting) ++count[r.group];
  for (auto const& [group, n] : count)
    if (best < 0 || n > count[best]) best = group;
  return best;
}

StallRecord record_of(RunState const& run, Stall const& s, Aftermath const& a, JobSize const& size) {
  StallRecord r;
  r.time = s.at;
  r.cause = s.cause;
  r.kind = StallKind::hang;
  if (!s.cycle.empty()) {
    r.kind = StallKind::deadlock;
  } else if (a.by_watchdog) {
    r.kind = StallKind::watchdog;
  } else if (a.detected) {
    r.kind = StallKind::rpc_timeout;
  }
  int const group = main_group(s, run.job.watchdog);
  if (group >= 0) {
    StalledGroup const& g = s.groups[static_cast<std::size_t>(group)];
    r.group = g.name;
    r.operation = g.operation;
    r.sequence = g.sequence;
  }
  for (WaitingRank const& w : s.waiting) {
    if (w.group != group || (a.ended && w.since > *a.ended)) continue;
    r.pool = w.pool;
    r.waiting_ranks.push_back(w.rank);
    if (!r.enqueued || w.since < *r.enqueued) r.enqueued = w.since;
  }
  if (s.waiting.empty() && !s.missing.empty()) r.pool = s.missing.front().pool;
  for (MissingRank const& m : s.missing) r.missing_ranks.push_back(m.rank);
  std::sort(r.waiting_ranks.begin(), r.waiting_ranks.end());
  std::sort(r.missing_ranks.begin(), r.missing_ranks.end());
  r.detected = a.detected;
  r.killed = a.ended;
  if (a.ended) r.gpu_seconds_lost = (*a.ended - s.at).value * size.gpus;
  return r;
}

// When each rank class stops to do what its spans say: of its first rank that stops or waits.
std::vector<Seconds> stops_of_classes(RunState const& run, Stall const& s, Seconds otherwise) {
  std::map<std::pair<int, int>, Seconds> of_rank;
  for (WaitingRank const& w : s.waiting) of_rank[{w.pool, w.rank}] = w.since;
  for (MissingRank const& m : s.missing) of_rank[{m.pool, m.rank}] = m.at;
  std::vector<Seconds> stops;
  for (RankClassInfo const& c : run.log.rank_classes) {
    Seconds first = otherwise;
    for (int rank : c.ranks) {
      if (auto const at = of_rank.find({c.pool, rank}); at != of_rank.end()) first = min(first, at->second);
    }
    stops.push_back(first);
  }
  return stops;
}

bool is_missing(Stall const& s, RankClassInfo const& c) {
  return std::any_of(c.ranks.begin(), c.ranks.end(), [&](int r) { return is_missing(s, c.pool, r); });
}

// Cuts what was recorded ahead of time, and tells what the ranks do until the end.
void cut_spans(RunState& run, Stall const& s, Seconds end) {
  EventLog& log = run.log;
  std::vector<Seconds> const stops = stops_of_classes(run, s, max(end, s.at));
  std::erase_if(log.spans, [&](Span& span) {
    Seconds const stop = stops[static_cast<std::size_t>(span.rank_class)];
    if (span.start >= stop) return true;
    if (span.end > stop) {
      double const done = (stop - span.start) / (span.end - span.start);
      span.flops *= done;
      span.hbm *= done;
      span.end = stop;
    }
    return false;
  });
  std::erase_if(log.counters, [&](Counter const& c) { return c.time > end; });
  // So were windows of a weight sync in other pools.
  for (PhaseWindow& w : log.phases) w.end = min(w.end, max(w.start, run.engine.now()));
  std::vector<Seconds> last(log.rank_classes.size());
  std::vector<std::pair<std::int32_t, Phase>> doing(log.rank_classes.size());
  for (Span const& span : log.spans) {
    auto const c = static_cast<std::size_t>(span.rank_class);
    if (span.end < last[c]) continue;
    last[c] = span.end;
    doing[c] = {span.step, span.phase};
  }
  for (std::size_t c = 0; c < stops.size(); ++c) {
    RankClassInfo const& info = log.rank_classes[c];
    std::optional<Progress> const& progress = run.pools[static_cast<std::size_t>(info.pool)]->progress;
    if (progress) doing[c] = {progress->batch->step, progress->phase};
    bool const waits = stops[c] < end && !is_missing(s, info);
    Span span;
    span.rank_class = static_cast<std::int32_t>(c);
    span.step = doing[c].first;
    span.stream = Stream::communication;
    span.phase = doing[c].second;
    span.activity = waits ? Activity::collective_wait : Activity::phase_wait;
    span.start = max(last[c], min(stops[c], s.at));
    span.end = end;
    run.recorder.span(span, is_missing(s, info) ? "stopped"
                            : waits             ? "waits for ranks that do not come"
                                                : "idle until the job ends");
  }
  // A phase ends with the cause; what is waited behind it belongs to no step's work. The pool of the cause
  // last.
  std::vector<PoolState*> pools;
  for (auto const& pool : run.pools) pools.push_back(pool.get());
  int const of_cause = pool_of_cause(s);
  std::stable_partition(pools.begin(), pools.end(), [&](PoolState* p) { return p->index != of_cause; });
  for (PoolState* pool : pools) {
    if (!pool->progress) continue;
    Progress const& now = *pool->progress;
    Seconds until = s.at;  // others may have gone on with their work
    for (Span const& span : log.spans) {
      bool const here = log.rank_classes[static_cast<std::size_t>(span.rank_class)].pool == pool->index;
      if (here && span.step == now.batch->step && span.phase == now.phase &&
          span.activity <= Activity::overhead)
        until = max(until, span.end);
    }
    PhaseRecorder{run.recorder, now.batch->step, now.phase}.window(pool->index, min(now.start, s.at), until);
  }
}

std::string reason_of(StallRecord const& r) {
  std::string out = r.cause;
  if (!r.waiting_ranks.empty())
    out += fmt::format("; {} wait{} in {} of {}", counted_ranks(r.waiting_ranks),
                       r.waiting_ranks.size() == 1 ? "s" : "", r.operation, r.group);
  if (!r.killed) return out + "; nobody ends it";
  return out + fmt::format("; the job is over {} after it", format(*r.killed - r.time));
}

// Ranks that other faults stop before the job has ended.
void add_later(RunState const& run, Stall& stall) {
  for (Fault const& f : run.job.faults) {
    bool const stops = f.kind == FaultKind::kill || f.kind == FaultKind::raise;
    if (!stops || !f.at || *f.at < run.engine.now() || run.happened.contains(&f)) continue;
    stall.later.push_back(
        {f.pool, f.ranks.front(), f.kind == FaultKind::kill ? Stop::exited : Stop::raised, *f.at});
  }
}

}  // namespace

void end_in_incident(RunState& run, Stall stall) {
  add_later(run, stall);
  JobSize const size = size_of_job(run);
  WatchdogOptions const& w = run.job.watchdog;
  LauncherOptions const& l = run.job.launcher;
  Aftermath a = aftermath(stall, w, l, size, run.options.seed);
  EventLog& log = run.log;
  StallRecord record = record_of(run, stall, a, size);
  if (log.outcome == Outcome::completed) {
    log.outcome = !stall.cycle.empty() ? Outcome::deadlock
                  : a.stop_is_noticed  ? Outcome::failed
                                       : Outcome::stalled;
    log.outcome_reason = reason_of(record);
  }
  log.remedies = remedies(stall, w, l, size, run.options.seed);
  log.happenings = std::move(a.happenings);
  log.stall = stall;
  for (StalledGroup& g : log.stall->groups) {
    if (g.timer == GroupTimer::c10d) g.timeout = g.timeout.value_or(w.timeout);
  }
  // What never ends is told up to now.
  cut_spans(run, stall, a.ended ? *a.ended : max(stall.at, run.engine.now()));
  if (!a.stop_is_noticed) log.stalls.push_back(std::move(record));
  run.stopped = true;
  throw RunEnded{};
}

}  // namespace rollcast
