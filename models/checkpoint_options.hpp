// When the actor's state is saved, how and where to.
#pragma once

#include <string_view>

#include "models/units.hpp"

namespace rollcast {

// sync: training waits until all is written. async: until it is copied to host memory; the write goes on
// behind the next phases, and the next checkpoint waits for it (torch.distributed.checkpoint.async_save).
enum class CheckpointMode { sync, async };
// shared: one storage for all nodes (a parallel file system); local: each node's own disks.
enum class CheckpointStorage { shared, local };
// sharded: every rank writes what it holds (torch.distributed.checkpoint, Megatron's torch_dist); gathered:
// the first rank gathers all of it and writes alone (torch.save of a full state dict).
enum class CheckpointFormat { sharded, gathered };

struct CheckpointOptions {
  int every = 0;                                       // steps from one to the next; 0: never
  bool optimizer = true;                               // states and master weights too, else weights alone
  double copies = 1;                                   // of that in host memory meanwhile
  BytesPerSecond bandwidth = bytes(2e9) / Seconds(1);  // to storage, of a node
  BytesPerSecond shared_bandwidth;                     // of the storage, all nodes together; 0: no limit
  CheckpointMode mode = CheckpointMode::sync;
  CheckpointStorage storage = CheckpointStorage::shared;
  CheckpointFormat format = CheckpointFormat::sharded;
};

std::string_view name_of(CheckpointMode v);
std::string_view name_of(CheckpointStorage v);
std::string_view name_of(CheckpointFormat v);

}  // namespace rollcast
