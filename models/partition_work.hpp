// What DeepSpeed's ZeRO does around modules and parameters beside a layer's own operations: hooks that gather
// and release the parameters of a module, and hooks that reduce and partition a gradient.
#pragma once

#include "models/job.hpp"

namespace rollcast {

// Of one layer, one rank and one micro-batch. An operation is what reaches a queue of the GPU (kernel,
// collective, event, wait of a stream) or a node that autograd runs in Python; it takes the host as long as
// an eager operation, the Python around it included.
struct PartitionWork {
  int forward_operations = 0;
  int backward_operations = 0;  // a recomputed forward has a forward's again
  double reduce_bytes = 0;      // passes over gradients on the stream that reduces them, beside the backward
};

// Counted in DeepSpeed 0.10 to 0.13 (runtime/zero: parameter_offload, partitioned_param_coordinator,
// partition_parameters, stage3, stage_1_and_2); R ranks share a copy, g: bytes of the gradients' type.
//   ZeRO-3, each module: 4 forward and 4 backward, two autograd functions, an event after the gathers and its
//     wait. Modules: layer, attention, rotary embedding, MLP, activation, norms, products; four more of an
//     adapter's target (wrapper, dropout, A, B), two more of a mixture's expert
//   ZeRO-3, each matrix: 4 forward and 4 backward, all-gather, its wait, an event that bounds the gathers in
//     flight, an event as its memory is freed; 2 for R = 1. Vectors stay gathered
//     (stage3_param_persistence_threshold)
//   ZeRO-3, each gradient: 7, event and wait, one copy or division, reduce-scatter, addition to the shard,
//   two
//     events as of a matrix. Bytes of a parameter: division 4, addition to the shard 2 + 2 g
//   ZeRO-2, each gradient: 1 into the bucket, and 3 / R as a rank owns it, out of it, into the shard,
//   addition
// None for other trainers and stages: FSDP's hooks are a layer's, ZeRO-1 reduces once a step. Left out:
// embedding and lm_head, a module each, and the operations of the optimizer step.
PartitionWork partition_work(Job const& job, int layer);

}  // namespace rollcast
