// Weight synchronisation from the trainer to the rollout engines: on the same GPUs by CUDA IPC, or from one
// pool to another by a broadcast.
//
// By CUDA IPC:
// Tensor by tensor, the pipeline stage that holds it broadcasts it to the other stages (each tensor-parallel
// rank its part), then the tensor-parallel ranks gather it whole; it is written to a buffer that the engine
// process maps, and the engine copies its own part out (Megatron Bridge, models/conversion/param_mapping.py:
// broadcast_from_pp_rank and gather_from_tp_ranks of one tensor after another). One tensor is under way at a
// time, so every byte of the model crosses the link of every stage:
//   time = weight bytes / tp / broadcast bandwidth [pp > 1] + (1 - 1/tp) x weight bytes / gather bandwidth
//        + 2 x weight bytes / HBM + tensors x per-tensor cost
// Broadcast and gather run over NVLink when their ranks lie in one node, over the NICs otherwise.
//
// To another pool (verl's and OpenRLHF's nccl checkpoint engines, TRL's and slime's update groups): gathered
// likewise, then trainer rank 0 and all engine ranks form one group and every whole tensor is broadcast in
// it; a rank keeps its part. One tensor after another, so nothing overlaps:
//   transfer = weight bytes / bandwidth of a broadcast among 1 + engine ranks
// A LoRA adapter that is synced alone has the bytes and tensors of its factors.
#pragma once

#include "models/collective_prices.hpp"
#include "models/job.hpp"

namespace rollcast {

struct WeightSync {
  Bytes weights;       // of the whole model, in the engine's dtype
  double tensors = 0;  // as the engine loads them: one per checkpoint tensor
  Seconds gather;      // broadcast to the other stages included
  Seconds transfer;    // to the engines' pool
  Seconds copy;
  Seconds per_tensor;

  Seconds total() const { return gather + transfer + copy + per_tensor; }
};

WeightSync ipc_weight_sync(Profile const& p, CollectivePrices& collectives, Job const& job);

// trainer, engines: the job as either pool sees it. same_node: the pools are parts of one node. The
// collectives are those of the trainer's pool.
WeightSync broadcast_weight_sync(Profile const& p, CollectivePrices& collectives, Job const& trainer,
                                 Job const& engines, bool same_node);

}  // namespace rollcast
