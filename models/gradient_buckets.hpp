// Parameters of a stage, the buckets in which their gradients are reduced, and the optimizer step.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "models/prices.hpp"
#include "models/stage_prices.hpp"

namespace rollcast {

// Gradient buckets of a stage: bytes of each (gradient dtype, per rank) and when it is ready, as a share of
// the last micro-batch's backward on that stage (the last layer's first).
struct GradientBucket {
  Bytes bytes;
  double ready = 0;      // in (0, 1]
  bool experts = false;  // reduced over the ranks with the same experts
};
// Tensors in the order in which the backward pass reaches them; a bucket closes when it holds
// TrainerOptions::bucket or more (a tensor is never cut), under fsdp2 at the end of each layer. Time within
// the backward is taken by the FLOPs of the products. With an adapter only its tensors have gradients. Where
// the experts' data-parallel group is not the dense tensors' one, they have buckets of their own (Megatron
// core/distributed/distributed_data_parallel.py: expert_parallel_params); the last bucket is a dense one.
std::vector<GradientBucket> gradient_buckets(Job const& job, Stage const& s);

// Whether the experts of this job are reduced over other ranks than the dense tensors.
bool has_expert_groups(Job const& job);

// Parameters of one stage on one rank (tp applied; to experts etp and ep). A tied lm_head that does not share
// a stage with its embedding is a second copy. Adapters are not counted.
double stage_parameters(Job const& job, Stage const& s);
double stage_expert_parameters(Job const& job, Stage const& s);  // the experts among them

// Those that are trained: stage_parameters, or the adapter's (its matrices are not cut by tp on the side of
// the rank).
double trained_parameters(Job const& job, Stage const& s);

// Adam over the parameters of one rank's shard: bytes over bandwidth (gradient, master, two states read;
// master, two states, weight written). The shard: distributed_optimizer, zero_stage >= 1 and fsdp2 divide by
// the data- and context-parallel ranks, of experts by expert_data_parallel. Without master weights the
// weight itself is read and written. With offload.optimizer on the host (models/host_optimizer.hpp).
Seconds optimizer_time(Profile const& p, Job const& job, Stage const& s);

// What offloaded gradients add to an optimizer step of `micro_batches` (models/host_optimizer.hpp).
Seconds host_gradient_time(Profile const& p, Job const& job, Stage const& s, int micro_batches);

}  // namespace rollcast
