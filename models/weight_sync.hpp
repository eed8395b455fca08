// Weight synchronisation from the trainer to the rollout engines, by WeightSyncOptions::method.
//
// The parts, in seconds, of W bytes and n tensors (as the engine loads them: one per checkpoint tensor) in u
// messages, n for tensors and W / bucket for buckets:
//   gather      Tensor by tensor, the pipeline stage that holds it broadcasts it to the other stages (each
//               rank its part: a tensor-parallel slice, the experts it has), then the tensor-parallel ranks
//               gather it whole and the expert-parallel ranks the experts (Megatron Bridge,
//               models/conversion/param_mapping.py). One tensor is under way at a time, so every byte crosses
//               the link of every stage. With D dense and E expert bytes:
//                 (D / tp + E / (etp x ep)) / broadcast bandwidth [pp > 1] + (1 - 1/tp) D / gather bandwidth
//                 + ((1 - 1/etp) / ep + 1 - 1/ep) E / gather bandwidth
//               FSDP and ZeRO-3 gather every tensor from all shards. Over NVLink within a node, else NICs.
//   per tensor  n x framework.sync_per_tensor: the trainer's export, and what else is not told apart
//   calls       u x engines x call; caches: u x flush
//   wire        models/sync_wire.hpp; gloo adds what TCP and host copies take beyond it
//   load        n x load_per_tensor + calls x walk (models/weight_loading.hpp), where load_per_tensor is told
//   copy        2 W / HBM: written to a buffer and read out of it; an engine that makes fp8 of it reads it
//               twice more and writes half
//   to host, from host, storage: the bytes of a rank or node over PCIe or storage
// What runs beside what (| side by side with overlap, in turn without):
//   ipc             gather, per tensor, copy in turn
//   tensors,        gather, per tensor, calls | wire | load, caches; the copy after it, or beside the loading
//   buckets         where that is told apart. Two buffers, one filled while the other is sent (NeMo-RL
//                   nemo_rl/utils/packed_tensor.py; verl's nccl checkpoint engine)
//   point_to_point  the same, of parts: nothing is gathered
//   host_memory     shares of the trainer: gather, per tensor | to host, then the host packs them into
//                   buckets; then from host; then wire | load (MoonshotAI checkpoint-engine ps.py
//                   _update_per_bucket: all ranks copy at the same time, then broadcast in turn, with two
//                   buffers for broadcast and loading; verl recipe/fully_async_policy/checkpoint_engine.py)
//   storage         gather, per tensor, written; then read | load
// The first message's way through the stages is left out. A LoRA adapter that is synced alone has the bytes
// and tensors of its factors.
#pragma once

#include <string_view>
#include <vector>

#include "models/collective_prices.hpp"
#include "models/job.hpp"
#include "models/sync_wire.hpp"

namespace rollcast {

enum class SyncCause {
  setup,
  gather,
  per_tensor,
  calls,
  to_host,
  to_storage,
  from_host,
  wire,
  tcp,
  load,
  caches,
  copy,
};
inline constexpr SyncCause kLastSyncCause = SyncCause::copy;
// As spans and reports have it: "gather weights".
std::string_view name_of(SyncCause c);

struct SyncPart {
  SyncCause cause = SyncCause::setup;
  Seconds time;
};
using SyncChain = std::vector<SyncPart>;   // one after another
using SyncStage = std::vector<SyncChain>;  // side by side

struct WeightSync {
  Bytes weights;       // of the whole model, as it is sent
  double tensors = 0;  // as the engine loads them: one per checkpoint tensor
  SyncWire wire;       // SyncCause::wire takes wire.time(); nothing for ipc
  std::vector<SyncStage> stages;

  // Stages follow each other; each takes as long as its longest chain.
  Seconds total() const;
  // Without regard to what hides it.
  Seconds of(SyncCause cause) const;
};
Seconds duration(SyncStage const& stage);

// The trainer's or the engines' pool: the job as it sees it, its card, its collectives.
struct SyncSide {
  Job const& job;
  Profile const& profile;
  CollectivePrices& collectives;
};
enum class SyncDistance { shared_gpus, one_node, apart };

// automatic: what the distance makes of it.
SyncMethod sync_method(Job const& job, SyncDistance distance);

WeightSync weight_sync(SyncSide const& trainer, SyncSide const& engines, SyncDistance distance);

}  // namespace rollcast
