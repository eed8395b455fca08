#include "sim/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "models/pools.hpp"
#include "models/rank_text.hpp"
#include "models/shard_exchange.hpp"
#include "sim/incident.hpp"
#include "sim/stalled_groups.hpp"
#include "sim/time_limits.hpp"
#include "sim/waiting.hpp"

namespace rollcast {
namespace {

Stop stop_of(FaultKind k) {
  switch (k) {
    case FaultKind::kill:
    case FaultKind::server:
      return Stop::exited;
    case FaultKind::raise:
      return Stop::raised;
    default:
      return Stop::hangs;
  }
}

std::vector<int> ranks_of(RunState const& run, Fault const& f) {
  if (f.kind != FaultKind::server) return f.ranks;
  int const size = run.rollout->job.rollout.parallel.ranks_per_replica();
  std::vector<int> ranks;
  for (int r = f.ranks.front() * size; r < (f.ranks.front() + 1) * size; ++r) ranks.push_back(r);
  return ranks;
}

std::string cause_of(RunState const& run, PoolState const& pool, Fault const& f) {
  std::string const place = where(run, pool);
  std::string const who = counted_ranks(ranks_of(run, f));
  switch (f.kind) {
    case FaultKind::kill:
      return who + place + " is killed";
    case FaultKind::raise:
      return who + place + " raises an exception";
    case FaultKind::hang:
      return who + place + " hangs";
    case FaultKind::skip:
      return fmt::format("{}{} runs {} micro-batch{} fewer than the others", who, place, f.micro_batches,
                         f.micro_batches == 1 ? "" : "es");
    case FaultKind::desync:
      return who + place + " calls another collective than the others";
    case FaultKind::server:
      return fmt::format("rollout engine {}{} dies", f.ranks.front(), place);
    default:
      return who + place;
  }
}

[[noreturn]] void stop_ranks(RunState& run, PoolState& pool, Fault const& f) {
  Stopped const s{pool.index, ranks_of(run, f), run.engine.now(), stop_of(f.kind), cause_of(run, pool, f)};
  Stall stall = stall_after(run, s);
  if (f.kind == FaultKind::skip || f.kind == FaultKind::desync)
    add_other_collective(stall, pool.job, s.pool, s.ranks, s.at);
  end_in_incident(run, stall);
}

// The scoring of the samples does not end. No rank waits in a collective while a driver waits for it.
[[noreturn]] void hang_scoring(RunState& run, PoolState const& pool, Fault const& f) {
  Stall stall;
  stall.at = run.engine.now();
  stall.elsewhere = "the scoring of the samples";
  stall.cause = fmt::format("the scoring of the samples of {} does not end", step_name(f.step));
  if (!run.job.framework.single_controller) {
    stall.groups.push_back(default_group(pool.progress ? pool.progress->phase : Phase::generate));
    for (int r = 1; r < pool.job.cluster.gpus(); ++r) stall.waiting.push_back({pool.index, r, 0, stall.at});
    stall.missing.push_back({pool.index, 0, Stop::hangs, stall.at});
  }
  end_in_incident(run, stall);
}

void add_damage(PoolState& pool, std::string const& what) {
  pool.damage += (pool.damage.empty() ? "" : ", ") + what;
}

void slow_ranks(PoolState& pool, Fault const& f) {
  pool.slowdown.resize(static_cast<std::size_t>(pool.job.cluster.gpus()), 1);
  for (int r : f.ranks) pool.slowdown[static_cast<std::size_t>(r)] = f.factor;
  add_damage(pool, fmt::format("kernels of {} take {:.3g} times as long", named_ranks(f.ranks), f.factor));
}

std::vector<int> ranks_of_nic(ClusterSpec const& c, Fault const& f) {
  std::vector<int> ranks;
  for (int g = 0; g < c.node.gpus; ++g) {
    if (g * c.node.nics / c.node.gpus == f.nic) ranks.push_back(f.node * c.node.gpus + g);
  }
  return ranks;
}

// Whether what the layers and stages of a pass exchange goes over NICs.
bool passes_cross_nodes(Job const& job) {
  Parallel const& p = job.train.parallel;
  int const node = job.cluster.node.gpus;
  if (job.cluster.nodes < 2) return false;
  return is_fully_sharded(job.train) || p.pp > 1 || p.tp * p.cp > node ||
         (job.model.moe && p.expert_block() > node);
}

// In a pass whose layers or stages exchange over a NIC that is cut, its ranks come no further, and the others
// wait for them.
void stop_at_cut(RunState& run, PoolState& pool) {
  if (pool.cut_ranks.empty() || !pool.progress || pool.progress->team == nullptr) return;
  if (!passes_cross_nodes(pool.progress->team->job)) return;
  Stopped const s{pool.index, pool.cut_ranks, run.engine.now(), Stop::hangs, pool.damage + where(run, pool)};
  Stall stall = stall_after(run, s);
  stall.missing.clear();
  Parallel const& p = pool.job.train.parallel;
  StalledGroup own = layer_group(pool.job);
  if (!is_fully_sharded(pool.job.train) && p.pp > 1) own = pipeline_group();
  auto const at = std::find_if(stall.groups.begin(), stall.groups.end(),
                               [&](StalledGroup const& g) { return g.name == own.name; });
  int const group = static_cast<int>(at - stall.groups.begin());
  if (at == stall.groups.end()) stall.groups.push_back(own);
  for (int r : pool.cut_ranks) stall.waiting.push_back({pool.index, r, group, s.at});
  end_in_incident(run, stall);
}

// A cut cable still carries a byte now and then, so that what waits for it has a time-out to run into.
void slow_link(RunState& run, PoolState& pool, Fault const& f) {
  if (!has_network(pool.job)) return;
  for (FaultLink const& l : pool.fault_links) {
    if (l.node == f.node && l.nic == f.nic)
      run.engine.set_capacity(l.link, max(l.capacity * f.factor, BytesPerSecond(1)));
  }
  if (!(f.factor > 0)) {
    add_damage(pool, fmt::format("NIC {} of node {} is cut", f.nic, f.node));
    for (int r : ranks_of_nic(pool.job.cluster, f)) pool.cut_ranks.push_back(r);
    return stop_at_cut(run, pool);
  }
  add_damage(pool, fmt::format("NIC {} of node {} has {:.3g} of its bandwidth", f.nic, f.node, f.factor));
  // A ring goes at its slowest link.
  pool.slow_prices =
      std::make_unique<CollectivePrices>(pool.profile, with_slower_nics(pool.job.cluster, f.factor));
}

// Whether the pool's ranks have something to do, and not only a driver that scores by itself.
bool is_at_work(RunState const& run, PoolState const& pool) {
  if (!pool.progress) return false;
  Phase const phase = pool.progress->phase;
  bool const of_driver = phase == Phase::score || phase == Phase::advantage;
  return !of_driver || pool.progress->team != nullptr || !run.job.framework.single_controller;
}

void happen(RunState& run, Fault const& f) {
  PoolState& pool = *run.pools[static_cast<std::size_t>(f.pool)];
  run.happened.insert(&f);
  if (f.kind == FaultKind::leak) return;  // grow_leaks
  if (f.kind == FaultKind::slow) return slow_ranks(pool, f);
  if (f.kind == FaultKind::link) return slow_link(run, pool, f);
  if (f.kind == FaultKind::hang && f.ranks.empty()) {
    // A time-out of the reward function ends the sample, and the run goes on.
    if (run.job.score.timeout.value > 0) return;
    hang_scoring(run, pool, f);
  }
  if (is_at_work(run, pool)) stop_ranks(run, pool, f);
  // Nobody of the pool can wait for it yet.
  for (int r : ranks_of(run, f)) pool.stopped.push_back({pool.index, r, stop_of(f.kind), run.engine.now()});
  pool.stop_cause = cause_of(run, pool, f);
  if (noticed(run.job.launcher, stop_of(f.kind), run.engine.now())) {
    Stall stall;
    stall.at = run.engine.now();
    stall.cause = pool.stop_cause;
    stall.missing = pool.stopped;
    end_in_incident(run, stall);
  }
}

}  // namespace

void arm_faults(RunState& run) {
  for (Fault const& f : run.job.faults) {
    if (f.at) run.fault_alarms.push_back(run.engine.at(*f.at, [&run, &f] { happen(run, f); }));
  }
  for (auto const& pool : run.pools) watch_idle(run, *pool);
}

void disarm_faults(RunState& run) {
  for (AlarmId alarm : run.fault_alarms) run.engine.cancel(alarm);
  for (auto const& pool : run.pools) stop_watching_idle(run, *pool);
}

void start_faults(RunState& run, PoolState& pool) {
  if (!pool.stopped.empty() && is_at_work(run, pool)) {
    Stopped s{pool.index, {}, run.engine.now(), pool.stopped.front().stop, pool.stop_cause};
    for (MissingRank const& m : pool.stopped) s.ranks.push_back(m.rank);
    Stall stall = stall_after(run, s);
    stall.at = pool.stopped.front().at;
    end_in_incident(run, stall);
  }
  stop_at_cut(run, pool);
  for (Fault const& f : run.job.faults) {
    if (f.at || f.phase != pool.progress->phase || f.step != pool.progress->batch->step) continue;
    bool const damage = f.kind == FaultKind::slow || f.kind == FaultKind::link;
    if (damage && !(f.after.value > 0)) {  // before the work is priced
      happen(run, f);
      continue;
    }
    Seconds when = run.engine.now() + f.after;
    if (f.kind == FaultKind::skip)
      when = start_of_micro_batch(run, pool.index, f.ranks.front(), f.micro_batches);
    run.fault_alarms.push_back(run.engine.at(when, [&run, &f] { happen(run, f); }));
  }
}

void grow_leaks(RunState& run, int step) {
  for (Fault const& f : run.job.faults) {
    bool const begun = f.at ? *f.at <= run.engine.now() : f.step <= step;
    if (f.kind != FaultKind::leak || !begun) continue;
    PoolState& pool = *run.pools[static_cast<std::size_t>(f.pool)];
    LedgerLine line;
    line.category = MemoryCategory::activations;
    line.bytes = f.bytes;
    line.name = "leak after " + step_name(step);
    for (std::size_t c = 0; c < pool.placement.classes.size(); ++c) {
      std::vector<int> const& ranks = pool.placement.classes[c].ranks;
      if (std::find(ranks.begin(), ranks.end(), f.ranks.front()) == ranks.end()) continue;
      pool.ledgers[static_cast<std::size_t>(pool.ledger_of_class[c])].lines.push_back(line);
    }
  }
}

std::string unhappened_faults(RunState const& run) {
  std::string list;
  for (std::size_t i = 0; i < run.job.faults.size(); ++i) {
    if (!run.happened.contains(&run.job.faults[i]))
      list += fmt::format("{}faults[{}]", list.empty() ? "" : ", ", i);
  }
  if (list.empty()) return {};
  return list +
         " did not happen: it lies behind the end of the run (simulate more steps with --steps), or nothing "
         "was there for it to hit";
}

std::optional<int> leaking_rank(PoolState const& pool) {
  for (Fault const& f : pool.job.faults) {
    if (f.kind == FaultKind::leak && f.pool == pool.index) return f.ranks.front();
  }
  return std::nullopt;
}

void end_out_of_memory(RunState& run, OomRecord const& oom) {
  PoolState& pool = *run.pools[static_cast<std::size_t>(oom.pool)];
  Stopped const s{oom.pool,
                  {oom.rank},
                  run.engine.now(),
                  oom.kind == OomKind::host ? Stop::exited : Stop::raised,
                  fmt::format("rank {}{} runs out of {}memory: {}", oom.rank, where(run, pool),
                              oom.kind == OomKind::host ? "host " : "", needs_text(oom))};
  end_in_incident(run, stall_after(run, s));
}

}  // namespace rollcast
