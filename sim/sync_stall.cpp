#include "sim/sync_stall.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/communicator_order.hpp"
#include "models/sync_program.hpp"

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
       .gather = sync.gather / buckets,
       .send = (sync.gather + sync.transfer) / buckets});
}

void record_until(PhaseRun const& p, PoolState& pool, Seconds start, Seconds end) {
  for (int c = 0; c < pool.classes(); ++c) {
    p.recorder.span(pool.first_class() + c, Stream::communication, Activity::communication,
                    "until the deadlock", start, end);
  }
  p.recorder.window(pool.index, start, end);
  pool.idle_since = end;
}

}  // namespace

std::optional<SyncStall> stall_of_sync(PhaseRun const& p, WeightSync const& sync) {
  FrameworkOptions const& f = p.pool.job.framework;
  SyncStall stall;
  if (f.sync_gather_stream == GatherStream::sender) {
    stall.programs = programs_of_sender(p, sync);
    stall.assumption = kAssumption;
  } else if (f.communicators.per_gpu > 1) {
    Seconds const each = (sync.gather + sync.transfer) / f.communicators.per_gpu;
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
  EventLog& log = p.run.log;
  Seconds const start = p.run.engine.now();
  Seconds const end = start + stall.run.end;
  record_until(p, p.pool, start, end);
  PoolState& engines = *p.run.rollout->pool;
  if (&engines != &p.pool) record_until(p, engines, start, end);
  log.outcome = Outcome::deadlock;
  log.outcome_reason = fmt::format("in the weight sync of {}: {}", step_name(p.batch.step),
                                   stall_sentence(stall.programs, stall.run));
  if (!stall.assumption.empty()) log.notes.push_back(stall.assumption);
  p.run.stopped = true;
  p.run.engine.delay(stall.run.end);
}

}  // namespace rollcast
