// A forward pass over all samples: log-probabilities, values, rewards.
#include "sim/replica_run.hpp"
#include "sim/sample_shards.hpp"

namespace rollcast {

void forward_pass(PhaseRun& p, Team& team) {
  Seconds const start = p.run.engine.now();
  auto const all = replica_times(team, forward_lengths(team, p.batch), PassKind::forward);
  std::vector<Seconds> ends;
  Seconds last = start;
  for (std::size_t replica = 0; replica < all.size(); ++replica) {
    PipelineSchedule const schedule = schedule_of(team, all[replica], PassKind::forward);
    record_schedule(p.recorder, team, static_cast<int>(replica), schedule, all[replica], start, true);
    ends.push_back(start + schedule.makespan);
    last = max(last, ends.back());
  }
  for (std::size_t replica = 0; replica < all.size(); ++replica) {
    for (auto const& classes : team.pool->placement.classes_of_stage[replica]) {
      for (int c : classes) {
        p.recorder.span(c, Stream::compute, Activity::phase_wait, "waits for other replicas", ends[replica],
                        last);
      }
    }
  }
  p.run.engine.delay(last - start);
}

}  // namespace rollcast
