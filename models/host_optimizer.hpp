// Adam on the host's processors, for trainers that keep their optimizer states there; states in unified
// memory.
#pragma once

#include "models/job.hpp"
#include "models/profile.hpp"

namespace rollcast {

// Of one rank's `parameters`, all ranks of its node at once: the gradient comes over PCIe, Adam reads
// gradient, master weight and two states and writes the latter three, all fp32, and the bf16 weight, 30 B a
// parameter, and the weight goes back. Its memory gives it a share of what the NUMA node's gives each of its
// ranks.
//   torch's Adam (Megatron core's hybrid optimizer, FSDP's CPU offload): 0.07. NeMo-RL, Qwen3-0.6B on one GPU
//     of an H100 host: a step takes 0.926 s longer with all of the optimizer offloaded, 19 GB/s.
//   DeepSpeedCPUAdam: 6 times that (its documentation: 5 to 7 times as fast as torch's). Its gradients have
//     come before (host_gradient_time), its weights go back in fp32. First torch scales the gradients in
//     place, 8 B a parameter, and under ZeRO-3 looks for infinities and NaNs in those that waited there, 4 +
//     4 g B, g: bytes of their type (stage3, has_overflow; DeepSpeed's issue 4561: over 10 s for each of the
//     two, Llama-2-70B); at a share of 0.2, as torch's Adam moves some 85 B in its passes for the 30. Each at
//     no more than 12 GB/s for each of host_threads, where those are given: what one core of a server
//     processor streams.
// Zero for no parameters; a node without a known memory bandwidth pays the copies alone.
Seconds host_optimizer_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters);

// What the gradients of DeepSpeed's offloaded optimizer add to the backward passes of an optimizer step.
// `parameters`: of one rank's share; `ranks` share a copy; g: bytes of the gradients' type; M micro-batches.
// Bytes of a parameter to the host and back (runtime/zero of DeepSpeed 0.10 to 0.16: stage_1_and_2,
// copy_grads_in_partition; stage3, partition_grads):
//   ZeRO-1   4                and 0          the sum in fp32
//   ZeRO-2   4 + g (M - 1)    and g (M - 1)  the sum so far waits there between micro-batches
//   ZeRO-3   4 + g M          and g M        a copy comes back also in the first micro-batch
// Up to ZeRO-2 a rank owns a stretch of the model: while it copies what the backward has reached, the others
// wait in the reduction of the next bucket, so that the ranks copy in turn, as far as their stretches lie in
// different buckets. Under ZeRO-3 all copy at once.
// Pinned copies hide behind the backward pass, up to ZeRO-2 only with overlap_gradient_reduce; the host waits
// for pageable ones, which are slower (models/switching.hpp). Zero for other trainers and optimizers on the
// GPU.
Seconds host_gradient_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters,
                           int ranks, int micro_batches);

// Pages of optimizer states that the GPU has no room for come in and go out once a step; pinned copies over
// the node's host links (bitsandbytes prefetches a tensor's pages before its step: functional.py,
// prefetch_tensor).
Seconds paging_time(Profile const& p, Bytes states, Bytes free);

}  // namespace rollcast
