#include "sim/waiting.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "models/pools.hpp"
#include "models/shard_exchange.hpp"
#include "sim/replica_run.hpp"
#include "sim/sample_shards.hpp"
#include "sim/stalled_groups.hpp"

namespace rollcast {
namespace {

// The pass under way of one replica.
struct Pass {
  ReplicaTimes times;
  PipelineSchedule schedule;
  Seconds start;
};

std::vector<Pass> passes_of(Progress& progress) {
  Team& team = *progress.team;
  bool const trains_now = trains(progress.phase);
  PassKind const kind = trains_now ? PassKind::training : PassKind::forward;
  std::map<std::size_t, std::vector<ReplicaTimes>> of_step;
  std::vector<RankLengths> const steps =
      trains_now ? optimizer_steps(team, *progress.batch)
                 : std::vector<RankLengths>{forward_lengths(team, *progress.batch)};
  std::vector<Pass> passes;
  for (int r = 0; r < team.replicas(); ++r) {
    ReplicaProgress at{0, progress.start};
    if (static_cast<std::size_t>(r) < progress.replicas.size())
      at = progress.replicas[static_cast<std::size_t>(r)];
    auto const [found, is_new] = of_step.try_emplace(at.optimizer_step);
    if (is_new) found->second = replica_times(team, steps.at(at.optimizer_step), kind);
    Pass p{found->second[static_cast<std::size_t>(r)], {}, at.start};
    p.schedule = schedule_of(team, p.times, kind);
    passes.push_back(std::move(p));
  }
  return passes;
}

// A stage of a replica, by pipeline rank.
struct Cell {
  int replica = 0;
  int stage = 0;
  friend auto operator<=>(Cell const&, Cell const&) = default;
};

class Propagation {
 public:
  Propagation(RunState& run, PoolState& pool, Stopped const& stopped)
      : run_(run),
        pool_(pool),
        progress_(*pool.progress),
        team_(*pool.progress->team),
        stopped_(stopped),
        passes_(passes_of(progress_)) {}

  void run_into(Stall& stall) {
    for (int rank : stopped_.ranks) {
      Cell const cell = cell_of(rank);
      stop_cell(cell, stopped_.at);
      gone_.insert(rank);
    }
    if (is_fully_sharded(team_.job.train) && team_.stages.size() == 1) block_shards(stall);
    spread();
    tell(stall);
  }

 private:
  Cell cell_of(int rank) const {
    Parallel const& p = team_.job.train.parallel;
    int const within = p.tp * p.cp;
    int const replicas = team_.replicas();
    return {rank / within % replicas, rank / within / replicas};
  }
  std::vector<int> ranks_of(Cell c) const {
    std::vector<int> ranks;
    auto const& classes =
        pool_.placement
            .classes_of_stage[static_cast<std::size_t>(c.replica)][static_cast<std::size_t>(c.stage)];
    for (int rank_class : classes) {
      auto const& of_class =
          pool_.placement.classes[static_cast<std::size_t>(rank_class - pool_.first_class())].ranks;
      ranks.insert(ranks.end(), of_class.begin(), of_class.end());
    }
    return ranks;
  }
  int layers_of(int stage) const { return std::max(1, team_.stages[static_cast<std::size_t>(stage)].layers); }
  std::size_t pipeline_ranks() const { return static_cast<std::size_t>(team_.job.train.parallel.pp); }

  // The first boundary between two layers of the cell's work at or after t; t itself outside of its work.
  Seconds next_layer(Cell c, Seconds t) const {
    Pass const& p = passes_[static_cast<std::size_t>(c.replica)];
    for (PipelineOp const& op : p.schedule.ops) {
      if (static_cast<std::size_t>(op.stage) % pipeline_ranks() != static_cast<std::size_t>(c.stage))
        continue;
      Seconds const begin = p.start + op.start, end = p.start + op.end;
      if (end <= t) continue;
      if (begin >= t) return begin;
      Seconds const layer = (end - begin) / layers_of(op.stage);
      return begin + layer * std::ceil((t - begin) / layer - 1e-9);
    }
    return t;
  }

  void stop_cell(Cell c, Seconds t) {
    auto const [at, is_new] = stopped_cells_.try_emplace(c, t);
    if (!is_new && !(t < at->second)) return;
    at->second = t;
    changed_ = true;
  }

  // With the number of the gather that the stopped rank does not come to; those of embedding and head not
  // counted.
  StalledGroup shard_group_now() const {
    StalledGroup g = layer_group(team_.job);
    if (stopped_.ranks.empty()) return g;
    Cell const cell = cell_of(stopped_.ranks.front());
    Pass const& p = passes_[static_cast<std::size_t>(cell.replica)];
    std::int64_t done = team_.layer_collectives;
    for (PipelineOp const& op : p.schedule.ops) {
      Seconds const begin = p.start + op.start, end = p.start + op.end;
      int const each = collectives_of_layer(op.backward);
      if (end <= stopped_.at) {
        done += std::int64_t{each} * layers_of(op.stage);
      } else if (begin < stopped_.at) {
        done +=
            each * static_cast<std::int64_t>((stopped_.at - begin) / ((end - begin) / layers_of(op.stage)));
      }
    }
    g.sequence = done + 1;
    return g;
  }

  // Ranks that gather every layer together.
  void block_shards(Stall& stall) {
    int const size = team_.job.train.shard_ranks > 0 ? team_.job.train.shard_ranks : team_.job.cluster.gpus();
    int const group = add_group(stall, shard_group_now());
    for (int rank : stopped_.ranks) {
      int const first = rank / size * size;
      for (int r = first; r < std::min(first + size, team_.job.cluster.gpus()); ++r) {
        // Ranks that share a sequence exchange its heads in every layer too, and get no further.
        bool const shares = team_.job.train.parallel.cp > 1 && cell_of(r) == cell_of(rank);
        int const in = shares ? add_group(stall, sequence_group(team_.job)) : group;
        wait_in(stall, r, in, shares ? stopped_.at : next_layer(cell_of(r), stopped_.at));
      }
    }
  }

  // Over expert groups and pipelines until nothing changes.
  void spread() {
    do {
      changed_ = false;
      spread_experts();
      spread_pipelines();
    } while (changed_);
  }
  void spread_experts() {
    int const block = team_.job.train.parallel.expert_block();
    int const within = team_.job.train.parallel.tp * team_.job.train.parallel.cp;
    if (!team_.job.model.moe || block <= within) return;
    auto const cells = stopped_cells_;
    for (auto const& [cell, t] : cells) {
      int const first = cell.replica * within / block * block / within;
      for (int r = first; r < std::min(first + (block + within - 1) / within, team_.replicas()); ++r)
        if (r != cell.replica) stop_cell({r, cell.stage}, next_layer({r, cell.stage}, t));
    }
  }
  // Operations that end after their cell has stopped never do, nor do those that need them.
  void spread_pipelines() {
    if (pipeline_ranks() < 2) return;
    std::set<int> replicas;
    for (auto const& [cell, t] : stopped_cells_) replicas.insert(cell.replica);
    for (int r : replicas) {
      Pass const& p = passes_[static_cast<std::size_t>(r)];
      int const last_stage = static_cast<int>(team_.stages.size()) - 1;
      std::set<std::tuple<int, int, bool>> never;  // stage, micro-batch, backward
      std::map<int, Seconds> blocked;              // by pipeline rank
      for (auto const& [cell, t] : stopped_cells_)
        if (cell.replica == r) blocked[cell.stage] = t;
      for (bool again = true; again;) {
        again = false;
        std::map<int, Seconds> free_at;
        for (PipelineOp const& op : by_time(p.schedule.ops)) {
          int const rank = op.stage % static_cast<int>(pipeline_ranks());
          if (never.contains({op.stage, op.micro_batch, op.backward})) continue;
          Seconds const end = p.start + op.end;
          bool lost = blocked.contains(rank) && end > blocked[rank];
          bool const needs =
              op.backward ? op.stage < last_stage && never.contains({op.stage + 1, op.micro_batch, true})
                          : op.stage > 0 && never.contains({op.stage - 1, op.micro_batch, false});
          if (needs && !lost) {
            Seconds const at = free_at.contains(rank) ? free_at[rank] : p.start;
            if (!blocked.contains(rank) || at < blocked[rank]) blocked[rank] = at;
            lost = true;
          }
          if (lost) {
            never.insert({op.stage, op.micro_batch, op.backward});
            again = true;
          } else {
            free_at[rank] = end;
          }
        }
      }
      for (auto const& [rank, t] : blocked) stop_cell({r, rank}, t);
    }
  }
  static std::vector<PipelineOp> by_time(std::vector<PipelineOp> ops) {
    std::stable_sort(ops.begin(), ops.end(),
                     [](PipelineOp const& a, PipelineOp const& b) { return a.start < b.start; });
    return ops;
  }

  int add_group(Stall& stall, StalledGroup g) const {
    for (std::size_t i = 0; i < stall.groups.size(); ++i)
      if (stall.groups[i].name == g.name) return static_cast<int>(i);
    stall.groups.push_back(std::move(g));
    return static_cast<int>(stall.groups.size()) - 1;
  }
  void wait_in(Stall& stall, int rank, int group, Seconds since) {
    if (gone_.contains(rank) || !waiting_.insert(rank).second) return;
    stall.waiting.push_back({pool_.index, rank, group, since});
  }

  void tell(Stall& stall) {
    for (int replica = 0; replica < team_.replicas(); ++replica) {
      for (int stage = 0; stage < static_cast<int>(pipeline_ranks()); ++stage) {
        Cell const cell{replica, stage};
        auto const at = stopped_cells_.find(cell);
        if (at != stopped_cells_.end()) {
          tell_stopped(stall, cell, at->second);
        } else {
          tell_other(stall, cell);
        }
      }
    }
  }
  // A cell with the stopped rank, or one that its pipeline or experts wait for.
  void tell_stopped(Stall& stall, Cell cell, Seconds t) {
    std::vector<int> const ranks = ranks_of(cell);
    bool const own = std::any_of(ranks.begin(), ranks.end(), [&](int r) { return gone_.contains(r); });
    StalledGroup pipeline = pipeline_group();
    pipeline.sequence = 1 + operations_before(cell, t);
    for (int r : ranks) {
      if (own) {
        wait_in(stall, r, add_group(stall, layer_group(team_.job)), next_layer(cell, t));
      } else if (team_.job.model.moe && pipeline_ranks() < 2) {
        wait_in(stall, r, add_group(stall, layer_group(team_.job)), t);
      } else {
        wait_in(stall, r, add_group(stall, pipeline), t);
      }
    }
  }
  void tell_other(Stall& stall, Cell cell) {
    Pass const& p = passes_[static_cast<std::size_t>(cell.replica)];
    Seconds const end = p.start + p.schedule.stage_end[static_cast<std::size_t>(cell.stage)];
    if (trains(progress_.phase)) {
      // Later than its passes: in the optimizer, whose next collective is at hand.
      Seconds const since = reduction_of(cell).value_or(max(end, stopped_.at));
      int const group = add_group(stall, gradient_group(run_, team_, cell.stage));
      for (int r : ranks_of(cell)) wait_in(stall, r, group, since);
    } else if (!run_.job.framework.single_controller) {
      int const group = add_group(stall, default_group(progress_.phase));
      for (int r : ranks_of(cell)) wait_in(stall, r, group, max(end, stopped_.at));
    }
  }
  // When the cell enqueues the first reduction that will not end.
  std::optional<Seconds> reduction_of(Cell cell) const {
    if (static_cast<std::size_t>(cell.stage) >= team_.gradients.size()) return std::nullopt;
    return run_.collectives.pending_arrival(team_.gradients[static_cast<std::size_t>(cell.stage)],
                                            cell.replica);
  }
  std::int64_t operations_before(Cell cell, Seconds t) const {
    Pass const& p = passes_[static_cast<std::size_t>(cell.replica)];
    return std::count_if(p.schedule.ops.begin(), p.schedule.ops.end(), [&](PipelineOp const& op) {
      return op.stage % static_cast<int>(pipeline_ranks()) == cell.stage && p.start + op.end <= t;
    });
  }

  RunState& run_;
  PoolState& pool_;
  Progress& progress_;
  Team& team_;
  Stopped const& stopped_;
  std::vector<Pass> passes_;
  std::map<Cell, Seconds> stopped_cells_;
  std::set<int> gone_;
  std::set<int> waiting_;
  bool changed_ = false;
};

// All other ranks of the pool in one group.
void all_wait(Stall& stall, PoolState const& pool, Stopped const& stopped, StalledGroup group) {
  stall.groups.push_back(std::move(group));
  int const index = static_cast<int>(stall.groups.size()) - 1;
  for (int r = 0; r < pool.job.cluster.gpus(); ++r) {
    if (std::find(stopped.ranks.begin(), stopped.ranks.end(), r) == stopped.ranks.end())
      stall.waiting.push_back({pool.index, r, index, stopped.at});
  }
}

// The other ranks of the engines that the stopped ones belong to, and whoever called the engines. In the
// trainer's own processes the engine's group is c10d's.
void engines_wait(RunState const& run, Stall& stall, PoolState const& pool, Stopped const& stopped) {
  bool const called = run.job.framework.single_controller || !holds_models(pool.job);
  GroupTimer const timer = called ? GroupTimer::rpc : GroupTimer::c10d;
  if (called && stopped.how == Stop::hangs) stall.called = stopped.at;
  int const size = pool.job.rollout.parallel.ranks_per_replica();
  std::set<int> engines;
  for (int r : stopped.ranks) engines.insert(r / size);
  auto const stops = [&](int r) {
    return std::find(stopped.ranks.begin(), stopped.ranks.end(), r) != stopped.ranks.end();
  };
  for (int e : engines) {
    if (size == 1) continue;
    stall.groups.push_back({"engine " + std::to_string(e), "ALLREDUCE", {}, timer, {}});
    int const group = static_cast<int>(stall.groups.size()) - 1;
    for (int r = e * size; r < (e + 1) * size; ++r) {
      if (!stops(r)) stall.waiting.push_back({pool.index, r, group, stopped.at});
    }
  }
  if (run.job.framework.single_controller) return;
  // Without a controller the trainer's ranks wait for what the engines bring.
  stall.groups.push_back(default_group(Phase::generate));
  int const group = static_cast<int>(stall.groups.size()) - 1;
  for (auto const& trainer : run.pools) {
    if (!holds_models(trainer->job) || (trainer->progress && trainer.get() != &pool)) continue;
    bool const same = trainer.get() == &pool;
    Seconds const since = same ? stopped.at : trainer->idle_since;
    for (int r = same ? 0 : 1; r < trainer->job.cluster.gpus(); ++r) {
      if (!same || (!stops(r) && !engines.contains(r / size)))
        stall.waiting.push_back({trainer->index, r, group, since});
    }
  }
}

// Who saves goes on with that first.
void wait_from_own_end(RunState const& run, Stall& stall, PoolState const& pool) {
  for (WaitingRank& w : stall.waiting) {
    for (Span const& span : run.log.spans) {
      if (span.phase != Phase::checkpoint || span.step != pool.progress->batch->step) continue;
      auto const& ranks = run.log.rank_classes[static_cast<std::size_t>(span.rank_class)].ranks;
      bool const own = run.log.rank_classes[static_cast<std::size_t>(span.rank_class)].pool == pool.index &&
                       std::find(ranks.begin(), ranks.end(), w.rank) != ranks.end();
      if (own && span.activity != Activity::phase_wait) w.since = max(w.since, span.end);
    }
  }
}

// generate() of the trainer's own sharded modules gathers every layer for every token.
bool gathers_to_generate(RunState const& run, PoolState const& pool) {
  return run.rollout && run.rollout->job.rollout.kind == EngineKind::hf && colocated(run.job) &&
         is_fully_sharded(pool.job.train);
}

}  // namespace

Stall stall_after(RunState& run, Stopped const& stopped) {
  PoolState& pool = *run.pools[static_cast<std::size_t>(stopped.pool)];
  if (!pool.progress) throw std::logic_error("a rank stops in no phase");
  Stall stall;
  stall.at = stopped.at;
  stall.cause = stopped.cause;
  for (int r : stopped.ranks) stall.missing.push_back({stopped.pool, r, stopped.how, stopped.at});
  Phase const phase = pool.progress->phase;
  bool const controller = run.job.framework.single_controller;
  if (pool.progress->team != nullptr && phase != Phase::score) {
    Propagation(run, pool, stopped).run_into(stall);
  } else if (phase == Phase::generate && gathers_to_generate(run, pool)) {
    all_wait(stall, pool, stopped, layer_group(pool.job));
  } else if (phase == Phase::generate && run.rollout && run.rollout->job.rollout.kind != EngineKind::hf) {
    engines_wait(run, stall, pool, stopped);
  } else if (phase == Phase::weight_sync) {
    GroupTimer const timer =
        colocated(run.job) || run.job.framework.sync_watchdog ? GroupTimer::c10d : GroupTimer::none;
    all_wait(stall, pool, stopped, {"weight sync", "BROADCAST", {}, timer, {}});
  } else if (!controller) {
    all_wait(stall, pool, stopped, default_group(phase));
    if (phase == Phase::checkpoint) wait_from_own_end(run, stall, pool);
  }
  return stall;
}

Seconds start_of_micro_batch(RunState& run, int pool, int rank, int from_the_end) {
  PoolState& of = *run.pools[static_cast<std::size_t>(pool)];
  if (!of.progress || of.progress->team == nullptr) throw std::logic_error("no pass is under way");
  Team& team = *of.progress->team;
  Parallel const& p = team.job.train.parallel;
  int const within = p.tp * p.cp;
  int const replica = rank / within % team.replicas();
  std::vector<Pass> const passes = passes_of(*of.progress);
  Pass const& mine = passes[static_cast<std::size_t>(replica)];
  int const count = static_cast<int>(mine.times.times.size());
  int const first = std::max(0, count - from_the_end);
  Seconds start = mine.start + mine.schedule.makespan;
  for (PipelineOp const& op : mine.schedule.ops)
    if (op.micro_batch >= first) start = min(start, mine.start + op.start);
  return start;
}

}  // namespace rollcast
