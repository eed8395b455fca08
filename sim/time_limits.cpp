#include "sim/time_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/pools.hpp"
#include "models/rank_text.hpp"
#include "models/shard_exchange.hpp"
#include "sim/incident.hpp"
#include "sim/replica_run.hpp"
#include "sim/stalled_groups.hpp"
#include "sim/waiting.hpp"

namespace rollcast {

void watch_idle(RunState& run, PoolState& pool) {
  if (run.job.framework.single_controller || !holds_models(pool.job) || pool.job.cluster.gpus() < 2) return;
  pool.idle_limit = run.engine.at(run.engine.now() + run.job.watchdog.timeout, [&run, &pool] {
    pool.idle_limit.reset();
    Stall stall;
    Seconds const since = run.engine.now() - run.job.watchdog.timeout;
    stall.at = since;
    stall.cause = "rank 0" + of_pool(run, pool) +
                  " waits for the work of the other pools longer than the time-out of its peers";
    stall.missing.push_back({pool.index, 0, Stop::hangs, since});
    stall.groups.push_back(default_group(pool.progress ? pool.progress->phase : Phase::generate));
    for (int r = 1; r < pool.job.cluster.gpus(); ++r) stall.waiting.push_back({pool.index, r, 0, since});
    end_in_incident(run, stall);
  });
}

void stop_watching_idle(RunState& run, PoolState& pool) {
  if (pool.idle_limit) run.engine.cancel(*pool.idle_limit);
  pool.idle_limit.reset();
}

void watch_ends(PhaseRun const& p, std::vector<Seconds> const& ends, Seconds end) {
  RunState& run = p.run;
  if (run.job.framework.single_controller || ends.empty()) return;
  Seconds const first = *std::min_element(ends.begin(), ends.end());
  Seconds const due = first + run.job.watchdog.timeout;
  if (due >= end) return;
  PoolState& pool = p.pool;
  run.engine.at(due, [&run, &pool, ends, due, first] {
    Stall stall;
    stall.at = first;
    stall.groups.push_back(default_group(pool.progress ? pool.progress->phase : Phase::generate));
    for (std::size_t c = 0; c < ends.size(); ++c) {
      for (int r : pool.placement.classes[c].ranks) {
        if (ends[c] < due) {
          stall.waiting.push_back({pool.index, r, 0, ends[c]});
        } else {
          stall.missing.push_back({pool.index, r, Stop::hangs, ends[c]});
        }
      }
    }
    std::vector<int> late;
    for (MissingRank const& m : stall.missing) late.push_back(m.rank);
    stall.cause = fmt::format("{}{} takes longer than the time-out of its peers", counted_ranks(late),
                              where(run, pool));
    end_in_incident(run, stall);
  });
}

void watch_counts(RunState& run, Team& team, std::vector<ReplicaTimes> const& passes, Seconds start) {
  TrainerOptions const& t = team.job.train;
  if (t.equal_micro_batches || !is_fully_sharded(t) || team.stages.size() > 1) return;
  std::size_t fewest = passes.front().times.size(), most = 0;
  for (ReplicaTimes const& r : passes) {
    fewest = std::min(fewest, r.times.size());
    most = std::max(most, r.times.size());
  }
  if (fewest == most) return;
  Seconds when = start;
  std::vector<int> ranks;
  for (std::size_t r = 0; r < passes.size(); ++r) {
    ReplicaTimes const& mine = passes[r];
    if (mine.times.size() == fewest) {
      for (int c : team.pool->placement.classes_of_stage[r].front()) {
        auto const& of_class = run.log.rank_classes[static_cast<std::size_t>(c)].ranks;
        ranks.insert(ranks.end(), of_class.begin(), of_class.end());
      }
      continue;
    }
    Seconds sum = start;
    for (std::size_t m = 0; m < fewest; ++m) {
      sum += mine.times[m].front().forward;
      if (trains(team.pool->progress->phase)) sum += mine.times[m].front().backward;
    }
    when = max(when, sum);
  }
  run.engine.at(when, [&run, pool = team.pool, ranks, fewest, most, when] {
    Stopped const s{
        pool->index, ranks, when, Stop::hangs,
        fmt::format("{}{}: {} micro-batch{} where others have up to {}, fewer than their collectives need",
                    counted_ranks(ranks), where(run, *pool), fewest, fewest == 1 ? "" : "es", most)};
    Stall stall = stall_after(run, s);
    add_other_collective(stall, pool->job, s.pool, s.ranks, s.at);
    end_in_incident(run, stall);
  });
}

void end_late_collective(RunState& run, CommunicatorId id) {
  for (auto const& team : run.teams) {
    for (std::size_t stage = 0; stage < team->gradients.size(); ++stage) {
      bool const dense = team->gradients[stage] == id;
      if (!dense && (stage >= team->expert_gradients.size() || !(team->expert_gradients[stage] == id)))
        continue;
      PoolState& pool = *team->pool;
      Stall stall;
      StalledGroup group = gradient_group(run, *team, static_cast<int>(stage));
      group.name = run.collectives.name(id);
      group.sequence = run.collectives.operations_done(id) + 1;
      stall.groups.push_back(group);
      Seconds const now = run.engine.now();
      std::vector<int> late;
      for (int m = 0; m < run.collectives.members(id); ++m) {
        auto const since = run.collectives.pending_arrival(id, m);
        bool const waits = since && *since <= now;
        for (int c : pool.placement.classes_of_stage[static_cast<std::size_t>(m)][stage]) {
          for (int r : run.log.rank_classes[static_cast<std::size_t>(c)].ranks) {
            if (waits) {
              stall.waiting.push_back({pool.index, r, 0, *since});
            } else {
              stall.missing.push_back({pool.index, r, Stop::hangs, now});
              late.push_back(r);
            }
          }
        }
      }
      stall.at = now;
      for (WaitingRank const& w : stall.waiting) stall.at = min(stall.at, w.since);
      std::string const why = pool.damage.empty() ? "" : ": " + pool.damage;
      stall.cause = late.empty()
                        ? fmt::format("the network does not carry {}{}{}", group.name, where(run, pool), why)
                        : fmt::format("{}{} comes too late{}", counted_ranks(late), where(run, pool), why);
      end_in_incident(run, stall);
    }
  }
  throw std::logic_error("no group has that communicator");
}

}  // namespace rollcast
