// Adam on the host's processors, for trainers that keep their optimizer states there; states in unified
// memory.
#pragma once

#include "models/job.hpp"
#include "models/profile.hpp"

namespace rollcast {

// Of one rank's `parameters`, all ranks of its node at once. The gradient comes over PCIe, the weight goes
// back; between them Adam reads gradient, master weight and two states and writes the latter three, all fp32,
// and the bf16 weight: 30 B a parameter at a share of what the NUMA node's memory gives each of its ranks.
//   torch's Adam (Megatron core's hybrid optimizer, FSDP's CPU offload): 0.07. NeMo-RL, Qwen3-0.6B on one GPU
//   of
//     an H100 host: a step takes 0.926 s longer with all of the optimizer offloaded, 19 GB/s.
//   DeepSpeedCPUAdam: 6 times that (its documentation: 5 to 7 times as fast as torch's).
// Zero for no parameters; a node without a known memory bandwidth pays the copies alone.
Seconds host_optimizer_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters);

// Pages of optimizer states that the GPU has no room for come in and go out once a step; pinned copies over
// the node's host links (bitsandbytes prefetches a tensor's pages before its step: functional.py,
// prefetch_tensor).
Seconds paging_time(Profile const& p, Bytes states, Bytes free);

}  // namespace rollcast
