// Pipeline schedules: exact, with micro-batches of unequal time.
#pragma once

#include <vector>

#include "models/stage_prices.hpp"

namespace rollcast {

// One forward or backward of a micro-batch on a stage, in schedule order per stage.
struct PipelineOp {
  int stage = 0;
  int micro_batch = 0;
  bool backward = false;
  Seconds start;
  Seconds end;
};
struct PipelineSchedule {
  std::vector<PipelineOp> ops;  // by stage, then by start
  std::vector<Seconds> stage_end;
  Seconds makespan;
};

// 1F1B (non-interleaved): times[micro_batch][stage]; transfer is the send/recv between neighbouring stages.
// Stage s of p runs min(m, p - 1 - s) forwards, then one forward and one backward in turn, then the remaining
// backwards. A forward waits for the forward of the stage before plus transfer, a backward for the backward
// of the stage after plus transfer (on the last stage: for its own forward). A transfer delays the receiver
// and occupies nobody. Equal times f, b and no transfer: makespan (m + p - 1)(f + b).
// Rows of different length are a std::logic_error.
PipelineSchedule one_forward_one_backward(std::vector<std::vector<StageTimes>> const& times,
                                          Seconds transfer);

// Forward only, micro-batches stream through the stages.
PipelineSchedule forward_pipeline(std::vector<std::vector<StageTimes>> const& times, Seconds transfer);

// Virtual pipeline stages: each of `ranks` holds `chunks` of them, stage c x ranks + r is chunk c of rank r,
// and micro-batches go through a chunk in groups before the next chunk.
struct Interleaving {
  int ranks = 1;
  int chunks = 1;
  int group = 0;  // microbatch_group_size_per_virtual_pipeline_stage; 0: as many as ranks
};

// Whether Megatron runs so many micro-batches: a group has at least as many as there are ranks and at most
// all of them, and so has the last group. With one chunk any number will do.
bool interleaves(Interleaving const& i, int micro_batches);

// Forwards of a rank before its first backward: min(m chunks, 2 (ranks - 1 - rank) + (chunks - 1) group), one
// chunk: min(m, ranks - 1 - rank). It holds the activations of at most one more chunk of a micro-batch.
int warm_up_forwards(Interleaving const& i, int rank, int micro_batches);

// Interleaved 1F1B (Narayanan et al., SC'21; order and warm-up of Megatron core's
// forward_backward_pipelining_with_interleaving): times[micro_batch][virtual stage]. A rank's forwards go
// group by group, within a group chunk by chunk; its backwards likewise from the last chunk; they alternate
// after the warm-up. Waiting and transfer as in one_forward_one_backward, along the virtual stages; a lone
// rank transfers nothing. Of the result, stage in ops is the virtual stage, and order and stage_end are by
// rank. Equal times f, b per chunk and no transfer: makespan (m chunks + ranks - 1)(f + b), a bubble of
// (ranks - 1) / (chunks m) of the work. One chunk: one_forward_one_backward.
// Rows of a length other than ranks x chunks, or what interleaves() denies, are a std::logic_error.
PipelineSchedule interleaved_one_forward_one_backward(std::vector<std::vector<StageTimes>> const& times,
                                                      Interleaving const& i, Seconds transfer);

// Forward only, in the same order of forwards.
PipelineSchedule interleaved_forward_pipeline(std::vector<std::vector<StageTimes>> const& times,
                                              Interleaving const& i, Seconds transfer);

}  // namespace rollcast
