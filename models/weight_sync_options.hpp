// How new weights reach the rollout engines: the options of models/weight_sync.hpp.
#pragma once

#include <optional>
#include <string_view>

#include "models/units.hpp"

namespace rollcast {

// automatic: ipc on shared GPUs, buckets between pools.
// ipc             trainer and engine share GPUs: the engine maps the trainer's buffer
// tensors         each tensor is gathered, announced, sent and loaded by itself
// buckets         many tensors at a time
// point_to_point  every engine rank gets its own part from ranks that hold it, all at the same time
// host_memory     each rank has a share of the model in page-locked memory; shares come bucket by bucket to
//                 the GPU and are broadcast to all, whose engines load them
// storage         written to shared storage by the trainer, read by every node of the engines
enum class SyncMethod { automatic, ipc, tensors, buckets, point_to_point, host_memory, storage };

// How whole tensors get from the one rank that has them to several engines: NCCL's broadcast among them all;
// one engine after another; every engine that has all sends on to one more (binomial tree); each sends on
// what has come to the next one (pipelined chain).
enum class FanOut { ring, serial, tree, chain };

// host_memory: whose shares. The trainer's ranks copy theirs out as part of the sync; a server beside the
// engines has them already, on the engines' own nodes or on others, from where they are read over the NICs.
enum class HostShares { trainer, engines, elsewhere };

// gloo: over TCP by way of host memory.
enum class SyncTransport { nccl, gloo };

struct WeightSyncOptions {
  SyncMethod method = SyncMethod::automatic;
  FanOut fan_out = FanOut::ring;
  HostShares shares = HostShares::trainer;
  SyncTransport transport = SyncTransport::nccl;
  Bytes bucket = MiB(512);
  // Export, sending and loading of successive tensors or buckets go on side by side; else in turn.
  bool overlap = true;
  bool requantize = false;  // weights come in the trainer's type, the engine makes its own type of them
  // The engine's loader, of one tensor; absent: framework.sync_per_tensor has it.
  std::optional<Seconds> load_per_tensor = {};
  Seconds call = {};                     // of one tensor or bucket to one engine, the engines in turn
  Seconds flush = {};                    // of one tensor or bucket, caches being emptied around its loading
  Seconds setup = {};                    // once a sync: metadata, communicators, the engine's last steps
  BytesPerSecond storage = GB_per_s(2);  // of a node, to and from it
};

std::string_view name_of(SyncMethod v);
std::string_view name_of(FanOut v);
std::string_view name_of(HostShares v);
std::string_view name_of(SyncTransport v);

}  // namespace rollcast
