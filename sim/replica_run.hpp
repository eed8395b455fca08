// One forward pass or one optimizer step of every replica: micro-batches, their prices, the pipeline's
// schedule, spans.
#pragma once

#include <vector>

#include "models/batching.hpp"
#include "models/pipeline.hpp"
#include "sim/run_state.hpp"

namespace rollcast {

// times[micro_batch][stage]. waits[micro_batch]: what a rank waits for the slower ranks that it shares its
// parameters with (ZeRO-3, FSDP: they gather every layer together), at the end of its forward and backward.
struct ReplicaTimes {
  std::vector<std::vector<StageTimes>> times;
  std::vector<StageTimes> waits;  // forward and backward only; empty where replicas do not share parameters
  Seconds transfer;               // between neighbouring stages
  std::int64_t computed_tokens = 0;
  std::int64_t useful_tokens = 0;
};

// Of every replica, given its sequences.
std::vector<ReplicaTimes> replica_times(Team const& team, RankLengths const& lengths, PassKind pass);

PipelineSchedule schedule_of(Team const& team, ReplicaTimes const& r, PassKind pass);

// Spans of one replica's schedule that starts at `start`: work, and bubbles between (and so asked, after) it
// up to the schedule's end.
void record_schedule(PhaseRecorder const& recorder, Team const& team, int replica,
                     PipelineSchedule const& schedule, ReplicaTimes const& r, Seconds start,
                     bool bubble_after);

}  // namespace rollcast
