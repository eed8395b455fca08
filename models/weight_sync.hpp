// Weight synchronisation from the trainer to a rollout engine on the same GPUs, by CUDA IPC.
//
// Every rank gathers each tensor whole from the peers that hold its other parts, writes it to a buffer that
// the engine process maps, and the engine copies its own part out:
//   time = (1 - 1/(tp x pp)) x weight bytes / gather bandwidth + 2 x weight bytes / HBM + tensors x
//   per-tensor cost
// The gather runs over NVLink when the tp x pp ranks lie in one node, over the NIC of the rank otherwise.
#pragma once

#include "models/job.hpp"
#include "models/prices.hpp"

namespace rollcast {

struct WeightSync {
  Bytes weights;       // of the whole model, in the engine's dtype
  double tensors = 0;  // as the engine loads them: one per checkpoint tensor
  Seconds gather;
  Seconds copy;
  Seconds per_tensor;

  Seconds total() const { return gather + copy + per_tensor; }
};

WeightSync ipc_weight_sync(Profile const& p, Job const& job);

}  // namespace rollcast
