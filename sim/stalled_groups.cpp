#include "sim/stalled_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/shard_exchange.hpp"
#include "sim/replica_run.hpp"

namespace rollcast {

StalledGroup sequence_group(Job const& job) {
  bool const heads = job.train.context_parallel == ContextParallel::ulysses;
  return {"context parallel", heads ? "ALLTOALL" : "RECV", {}, GroupTimer::c10d, {}};
}

StalledGroup layer_group(Job const& job) {
  TrainerOptions const& t = job.train;
  Parallel const& p = t.parallel;
  if (is_fully_sharded(t))
    return {t.kind == TrainerKind::deepspeed ? "zero3" : "fsdp", "ALLGATHER", {}, GroupTimer::c10d, {}};
  if (p.tp > 1)
    return {"tensor parallel", t.sequence_parallel ? "ALLGATHER" : "ALLREDUCE", {}, GroupTimer::c10d, {}};
  if (p.cp > 1) return sequence_group(job);
  return {"expert parallel", "ALLTOALL", {}, GroupTimer::c10d, {}};
}

StalledGroup default_group(Phase phase) {
  return {"default_pg", phase == Phase::checkpoint ? "ALLREDUCE" : "BROADCAST", {}, GroupTimer::c10d, {}};
}

StalledGroup gradient_group(RunState const& run, Team const& team, int stage) {
  TrainerOptions const& t = team.job.train;
  bool const sharded = t.distributed_optimizer || t.zero_stage >= 1;
  StalledGroup g{"gradients", sharded ? "REDUCE_SCATTER" : "ALLREDUCE", {}, GroupTimer::c10d, {}};
  if (static_cast<std::size_t>(stage) < team.gradients.size()) {
    CommunicatorId const id = team.gradients[static_cast<std::size_t>(stage)];
    g.name = run.collectives.name(id);
    g.sequence = run.collectives.operations_done(id) + 1;
  }
  return g;
}

int collectives_of_layer(bool backward) { return backward ? 2 : 1; }

std::int64_t collectives_of(Team const& team, ReplicaTimes const& r, bool training) {
  std::int64_t layers = 0;
  for (Stage const& s : team.stages) layers += s.layers;
  int const each = collectives_of_layer(false) + (training ? collectives_of_layer(true) : 0);
  return layers * each * static_cast<std::int64_t>(r.times.size());
}

void add_other_collective(Stall& stall, Job const& job, int pool, std::vector<int> const& ranks, Seconds at) {
  if (stall.waiting.empty()) return;
  auto const layers = std::find_if(stall.groups.begin(), stall.groups.end(),
                                   [&](StalledGroup const& g) { return g.name == layer_group(job).name; });
  StalledGroup other = layers != stall.groups.end() ? *layers : stall.groups.front();
  other.operation = other.operation == "ALLREDUCE" ? "BROADCAST" : "ALLREDUCE";
  stall.groups.push_back(other);
  for (int r : ranks) stall.waiting.push_back({pool, r, static_cast<int>(stall.groups.size()) - 1, at});
}

StalledGroup pipeline_group() { return {"pipeline", "RECV", {}, GroupTimer::c10d, {}}; }

std::string of_pool(RunState const& run, PoolState const& pool) {
  return run.pools.size() > 1 ? " of " + run.log.pools[static_cast<std::size_t>(pool.index)].name : "";
}

std::string where(RunState const& run, PoolState const& pool) {
  std::string const of = of_pool(run, pool);
  if (!pool.progress) return of + " between two phases";
  return fmt::format("{} in {} of {}", of, name_of(pool.progress->phase),
                     step_name(pool.progress->batch->step));
}

}  // namespace rollcast
