#include "sim/sync_stall.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "models/communicator_order.hpp"
#include "models/sync_program.hpp"
#include "sim/incident.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kAssumption =
    "assumed: other trainer ranks that gather ahead keep a broadcast from getting through, and with two "
    "ranks "
    "none gathers ahead; reported is that two work and more do not, not why";

// Rank 0's group of shards, and the engines.
CollectivePrograms programs_of_sender(PhaseRun const& p, WeightSync const& sync) {
  Job const& trainer = p.pool.job;
  int const buckets = sync_buckets(sync.weights);
  return sync_programs(
      {.trainer_ranks = trainer.train.shard_ranks > 0 ? trainer.train.shard_ranks : trainer.cluster.gpus(),
       .engine_ranks = p.run.rollout->pool->job.cluster.gpus(),
       .buckets = buckets,
       .stream = trainer.framework.sync_gather_stream,
       .gather = sync.of(SyncCause::gather) / buckets,
       .send = (sync.of(SyncCause::gather) + sync.of(SyncCause::wire)) / buckets});
}

void record_until(PhaseRun const& p, PoolState& pool, Seconds start, Seconds end) {
  for (int c = 0; c < pool.classes(); ++c) {
    p.recorder.span(pool.first_class() + c, Stream::communication, Activity::communication,
                    "until the deadlock", start, end);
  }
}

// PyTorch's name of the collective.
std::string operation_of(std::string const& name) {
  if (name.starts_with("gather")) return "ALLGATHER";
  return name.starts_with("broadcast") ? "BROADCAST" : "ALLREDUCE";
}

// Ranks of the programs are the trainer's, then the engines'. Only the trainer's own group is c10d's in any
// case.
Stall stall_of(PhaseRun const& p, SyncStall const& s, Seconds start) {
  Stall stall;
  stall.at = start + s.run.end;
  stall.cycle = stall_sentence(s.programs, s.run);
  stall.cause = fmt::format("in the weight sync of {}: {}", step_name(p.batch.step), stall.cycle);
  int const trainers = p.pool.job.cluster.gpus();
  int const engines = p.run.rollout->pool->index;
  std::set<int> seen;
  for (StalledCollective const& c : s.run.stalled) {
    StalledGroup group;
    group.name = s.programs.communicators[static_cast<std::size_t>(c.communicator)].name;
    group.operation = operation_of(s.programs.names[static_cast<std::size_t>(c.name)]);
    group.sequence = c.sequence + 1;
    bool const transfer = group.operation == "BROADCAST" && engines != p.pool.index;
    if (transfer && !p.run.job.framework.sync_watchdog) group.timer = GroupTimer::none;
    int const index = static_cast<int>(stall.groups.size());
    stall.groups.push_back(std::move(group));
    auto const wait = [&](int rank, Seconds since) {
      if (!seen.insert(rank).second) return;  // what it waits in first
      bool const trains = rank < trainers;
      stall.waiting.push_back(
          {trains ? p.pool.index : engines, trains ? rank : rank - trainers, index, since});
    };
    for (StartedRank const& w : c.waiting) wait(w.rank, start + w.since);
    for (int r : c.queued) wait(r, stall.at);
  }
  return stall;
}

}  // namespace

std::optional<SyncStall> stall_of_sync(PhaseRun const& p, WeightSync const& sync) {
  FrameworkOptions const& f = p.pool.job.framework;
  SyncStall stall;
  if (f.sync_gather_stream == GatherStream::sender) {
    stall.programs = programs_of_sender(p, sync);
    stall.assumption = kAssumption;
  } else if (f.communicators.per_gpu > 1) {
    Seconds const each = (sync.of(SyncCause::gather) + sync.of(SyncCause::wire)) / f.communicators.per_gpu;
    stall.programs =
        side_by_side(f.communicators, p.pool.job.cluster.gpus(), p.run.options.seed, p.batch.step, each);
  } else {
    return std::nullopt;
  }
  stall.run = run_collectives(stall.programs);
  if (stall.run.finishes) return std::nullopt;
  return stall;
}

void stop_deadlocked(PhaseRun& p, SyncStall const& stall) {
  Seconds const start = p.run.engine.now();
  Seconds const end = start + stall.run.end;
  record_until(p, p.pool, start, end);
  PoolState& engines = *p.run.rollout->pool;
  if (&engines != &p.pool) record_until(p, engines, start, end);
  if (!stall.assumption.empty()) p.run.log.notes.push_back(stall.assumption);
  p.run.engine.delay(stall.run.end);
  end_in_incident(p.run, stall_of(p, stall, start));
}

}  // namespace rollcast
