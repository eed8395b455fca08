// A forward pass over all samples: log-probabilities, values, rewards.
#include "sim/replica_run.hpp"
#include "sim/sample_shards.hpp"
#include "sim/stalled_groups.hpp"
#include "sim/time_limits.hpp"

namespace rollcast {
namespace {

// Of a pass that went on beside the generation the rest alone.
void record_rest(PhaseRun& p, Team& team, Rest rest) {
  Seconds const start = p.run.engine.now();
  record_forward(p.recorder, team, p.batch, start, start + rest.left, rest.share);
  p.run.engine.delay(rest.left);
}

}  // namespace

Seconds forward_time(Team& team, Batch& batch) {
  Seconds longest;
  for (ReplicaTimes const& r : replica_times(team, forward_lengths(team, batch), PassKind::forward))
    longest = max(longest, schedule_of(team, r, PassKind::forward).makespan);
  return longest;
}

void record_forward(PhaseRecorder const& recorder, Team& team, Batch& batch, Seconds start, Seconds end,
                    double share) {
  auto const all = replica_times(team, forward_lengths(team, batch), PassKind::forward);
  for (std::size_t replica = 0; replica < all.size(); ++replica) {
    auto const& by_stage = team.pool->placement.classes_of_stage[replica];
    for (std::size_t rank = 0; rank < by_stage.size(); ++rank) {
      Flops flops;
      for (auto const& stages : all[replica].times) {
        for (std::size_t s = rank; s < stages.size(); s += by_stage.size()) flops += stages[s].forward_flops;
      }
      for (int c : by_stage[rank])
        recorder.span(c, Stream::compute, Activity::compute, "forward", start, end, flops * share);
    }
  }
}

void forward_pass(PhaseRun& p, Team& team) {
  if (auto const rest = p.batch.rest.find(p.phase); rest != p.batch.rest.end())
    return record_rest(p, team, rest->second);
  Seconds const start = p.run.engine.now();
  auto const all = replica_times(team, forward_lengths(team, p.batch), PassKind::forward);
  watch_counts(p.run, team, all, start);
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
  std::vector<Seconds> of_class(static_cast<std::size_t>(team.pool->classes()), last);
  for (std::size_t replica = 0; replica < all.size(); ++replica) {
    for (auto const& classes : team.pool->placement.classes_of_stage[replica]) {
      for (int c : classes) of_class[static_cast<std::size_t>(c - team.pool->first_class())] = ends[replica];
    }
  }
  watch_ends(p, of_class, last);
  p.run.engine.delay(last - start);
  if (!all.empty()) team.layer_collectives += collectives_of(team, all.front(), false);
}

}  // namespace rollcast
