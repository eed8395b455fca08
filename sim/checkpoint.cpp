#include "sim/checkpoint.hpp"

#include "models/checkpoint.hpp"
#include "sim/time_limits.hpp"

namespace rollcast {
namespace {

constexpr double kSecondsOfDay = 86'400;

}  // namespace

void save_checkpoint(PhaseRun& p) {
  RunState& run = p.run;
  CheckpointOptions const& options = run.job.checkpoint;
  bool const behind = options.mode == CheckpointMode::async;
  CheckpointTime const time = checkpoint_time(p.pool.profile, *p.pool.prices, p.pool.job);
  Seconds const start = run.engine.now();
  Seconds const free = max(start, run.checkpoint_written);
  Seconds const gathered = free + time.gather;
  Seconds const copied = gathered + time.copy;
  Seconds const written = copied + time.write;
  bool const alone = options.format == CheckpointFormat::gathered;
  for (int i = 0; i < p.pool.classes(); ++i) {
    int const rank_class = p.pool.first_class() + i;
    p.recorder.span(rank_class, Stream::compute, Activity::phase_wait, "waits for the checkpoint before",
                    start, free);
    p.recorder.span(rank_class, Stream::communication, Activity::communication, "gather state", free,
                    gathered);
    if (alone && i > 0) {
      p.recorder.span(rank_class, Stream::compute, Activity::phase_wait, "waits for the first rank", gathered,
                      behind ? copied : written);
      continue;
    }
    p.recorder.span(rank_class, Stream::copy, Activity::copy, "state to host", gathered, copied);
    p.recorder.span(rank_class, behind ? Stream::storage : Stream::host, Activity::overhead,
                    "state to storage", copied, written);
  }
  if (behind) run.checkpoint_written = written;
  if (alone) {
    std::vector<Seconds> ends(static_cast<std::size_t>(p.pool.classes()), gathered);
    ends.front() = behind ? copied : written;
    watch_ends(p, ends, ends.front());
  }
  run.engine.delay((behind ? copied : written) - start);
}

std::optional<LongRunPlan> long_run_plan(RunState const& run) {
  if (!run.job.reliability) return std::nullopt;
  ReliabilityOptions const& r = *run.job.reliability;
  PoolState& pool = *run.team(Role::actor).pool;
  CheckpointTime const time = checkpoint_time(pool.profile, *pool.prices, pool.job);
  LongRunPlan plan;
  plan.every = run.job.checkpoint.every;
  plan.run.checkpoint = blocking_time(time, run.job.checkpoint.mode);
  if (run.job.checkpoint.mode == CheckpointMode::async) plan.run.write = time.write;
  plan.run.detection = r.detection;
  plan.run.relaunch = r.relaunch;
  plan.run.load = load_time(pool.profile, *pool.prices, pool.job);
  plan.run.between_failures = r.mtbf_per_gpu / static_cast<double>(total_gpus(run.job));
  plan.run.spares = r.spares;
  plan.run.replacement = r.replacement;
  plan.run.horizon = Seconds(r.days * kSecondsOfDay);
  return plan;
}

}  // namespace rollcast
