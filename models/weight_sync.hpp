// Weight synchronisation from the trainer to the rollout engines: on the same GPUs by CUDA IPC, or from one
// pool to another by a broadcast.
//
// By CUDA IPC:
// Tensor by tensor, the pipeline stage that holds it broadcasts it to the other stages (each rank its part of
// it: a tensor-parallel slice, the experts it has), then the tensor-parallel ranks gather it whole and the
// expert-parallel ranks the experts; it is written to a buffer that the engine process maps, and the engine
// copies its own part out (Megatron Bridge, models/conversion/param_mapping.py: broadcast_from_pp_rank,
// gather_from_tp_ranks and gather_from_ep_ranks of one tensor after another). One tensor is under way at a
// time, so every byte crosses the link of every stage. With D dense and E expert bytes:
//   gather = (D / tp + E / (etp x ep)) / broadcast bandwidth [pp > 1] + (1 - 1/tp) D / gather bandwidth
//            + ((1 - 1/etp) / ep + 1 - 1/ep) E / gather bandwidth
//   time   = gather + 2 x weight bytes / HBM + tensors x per-tensor cost
// FSDP and ZeRO-3 gather every tensor from all shards instead. Broadcast and gather run over NVLink when
// their ranks lie in one node, over the NICs otherwise.
//
// To another pool (verl's and OpenRLHF's nccl checkpoint engines, TRL's and slime's update groups): gathered
// likewise, then trainer rank 0 and all engine ranks form one group and every whole tensor is broadcast in
// it; a rank keeps its part. There are two buffers, so that one is filled while the other is sent (NeMo-RL
// nemo_rl/utils/packed_tensor.py; verl's checkpoint engine):
//   time = max(gather + tensors x per-tensor cost, weight bytes / bandwidth of a broadcast among 1 + engine
//   ranks) + copy
// A LoRA adapter that is synced alone has the bytes and tensors of its factors.
#pragma once

#include "models/collective_prices.hpp"
#include "models/job.hpp"

namespace rollcast {

struct WeightSync {
  Bytes weights;       // of the whole model, in the engine's dtype
  double tensors = 0;  // as the engine loads them: one per checkpoint tensor
  Seconds gather;      // broadcast to the other stages included
  Seconds transfer;    // to the engines' pool, what the gather does not hide
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
