// Adam on the host's processors, for trainers that keep their optimizer states there.
#pragma once

#include "models/job.hpp"
#include "models/profile.hpp"

namespace rollcast {

// Of one rank's `parameters`, all ranks of its node at once: the gradient comes over PCIe, Adam reads
// gradient, master weight and two states and writes the latter three, all fp32, and the bf16 weight, 30 B a
// parameter, and the weight goes back. Its memory gives it a share of what the NUMA node's gives each of its
// ranks.
//   torch's Adam (Megatron core's hybrid optimizer, FSDP's CPU offload): 0.07. NeMo-RL, Qwen3-0.6B on one GPU
//   of
//     an H100 host: a step takes 0.926 s longer with all of the optimizer offloaded, 19 GB/s.
//   DeepSpeedCPUAdam: 6 times that (its documentation: 5 to 7 times as fast as torch's), and no more than
//     12 GB/s for each of host_threads, where those are given: what one core of a server processor streams.
// DeepSpeed (runtime/zero/stage_1_and_2.py of 2024) sends gradients and weights in fp32 and scales the
// gradients where they lie, another 8 B a parameter; copies without page-locked buffers are slower
// (models/switching.hpp).
// Zero for no parameters; a node without a known memory bandwidth pays the copies alone.
Seconds host_optimizer_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters);

// DeepSpeed keeps the sum of the micro-batches' gradients on the host, in the gradients' type: every
// micro-batch but the first fetches it, adds to it, and sends it back (async_accumulate_grad_in_cpu_via_gpu;
// the last one in fp32, which host_optimizer_time has). On the stream of the backward pass, so nothing hides
// it. Of one such micro-batch; zero for other trainers, whose sums stay on the GPU.
Seconds host_accumulation_time(Profile const& p, Node const& node, TrainerOptions const& t,
                               double parameters);

}  // namespace rollcast
