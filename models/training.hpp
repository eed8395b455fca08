// Training and log-prob phases of one data-parallel replica: packing, stage times, the 1F1B schedule,
// gradient buckets, optimizer step. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "models/job.hpp"
#include "models/prices.hpp"

namespace rollcast {

// What a micro-batch costs depends on its tokens and on its causal (query, key) pairs, sum over sequences of
// l (l + 1) / 2.
struct MicroBatch {
  std::int64_t tokens = 0;         // computed, padding included
  std::int64_t useful_tokens = 0;  // without padding
  double pairs = 0;
};

// Sequences (prompt + response lengths) of one replica into micro-batches. Packing: first-fit decreasing into
// packs of pack_tokens x sequences_per_micro_batch; otherwise consecutive groups of
// sequences_per_micro_batch, padded to the longest of the group.
std::vector<MicroBatch> make_micro_batches(std::vector<int> const& lengths, TrainerOptions const& t,
                                           int sequences_per_micro_batch, int pack_tokens);

// Layers [first, first + count) of a pipeline stage; stage 0 also holds the embedding, the last one norm and
// lm_head.
struct Stage {
  int first_layer = 0;
  int layers = 0;
  bool has_embedding = false;
  bool has_lm_head = false;
};
std::vector<Stage> pipeline_stages(Architecture const& a, int pp);

// Time of one micro-batch on one stage, tensor- and context-parallel communication that cannot be hidden
// included.
struct StageTimes {
  Seconds forward;
  Seconds backward;     // recomputation included
  Flops forward_flops;  // of one rank, model FLOPs (recomputation not counted)
  Flops backward_flops;
  Seconds forward_communication;  // exposed part inside forward
  Seconds backward_communication;
};
StageTimes stage_times(Profile const& p, Job const& job, Stage const& s, MicroBatch const& m);
// Forward that ends in log-probabilities of the responses (log-softmax over the vocabulary on the last
// stage).
StageTimes logprob_times(Profile const& p, Job const& job, Stage const& s, MicroBatch const& m);

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
PipelineSchedule one_forward_one_backward(std::vector<std::vector<StageTimes>> const& times,
                                          Seconds transfer);
// Forward only, micro-batches stream through the stages.
PipelineSchedule forward_pipeline(std::vector<std::vector<StageTimes>> const& times, Seconds transfer);

// Bytes of one activation hand-over between stages for a micro-batch.
Bytes stage_transfer_bytes(Job const& job, MicroBatch const& m);

// Gradient buckets of a stage: bytes of each (gradient dtype, per rank) and when it is ready, as a share of
// the last micro-batch's backward on that stage (the last layer's first).
struct GradientBucket {
  Bytes bytes;
  double ready = 0;  // in (0, 1]
};
std::vector<GradientBucket> gradient_buckets(Job const& job, Stage const& s);

// Parameters of one stage on one rank (tp applied; experts over ep).
double stage_parameters(Job const& job, Stage const& s);

// Adam over the parameters of one rank's shard: bytes over bandwidth (gradient, master, two states read;
// master, two states, weight written).
Seconds optimizer_time(Profile const& p, Job const& job, Stage const& s);

}  // namespace rollcast
