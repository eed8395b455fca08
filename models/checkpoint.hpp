// What a checkpoint saves of the actor, how long that takes, and how long it takes to load it again.
#pragma once

#include "models/collective_prices.hpp"
#include "models/job.hpp"

namespace rollcast {

// Bytes that a rank of a pipeline stage has to save: weights in the type that the trainer keeps them in, with
// CheckpointOptions::optimizer the master weights beside them and the states of the optimizer; of an adapter
// run the adapter's. What several ranks hold is written once, in equal parts. Llama-3.1-8B, FSDP2 with fp32
// parameters over eight ranks: 8,030,261,248 x (4 + 8) B / 8 = 12.0 GB a rank.
Bytes checkpoint_bytes(Job const& job, int stage);
// Of all ranks.
Bytes checkpoint_bytes(Job const& job);

// Bytes that a rank of a stage reads to go on in the layout that has saved: all it holds, also what other
// ranks hold too. The same job under DeepSpeed at stage 1: 8,030,261,248 x (2 + 12 / 8) B.
Bytes loaded_bytes(Job const& job, int stage);

// What a parameter of that comes to: its weight as the trainer keeps it (the master weight where there is no
// other), and with CheckpointOptions::optimizer what the optimizer keeps.
struct SavedBytes {
  Bytes weights;
  Bytes optimizer;

  Bytes total() const { return weights + optimizer; }
};
SavedBytes saved_bytes_per_parameter(Job const& job);

// In host memory of a rank of a stage while it is saved: copies x checkpoint_bytes; gathered, all ranks'
// bytes lie on the first rank, told as the share of each rank of its node, of stage 0.
Bytes checkpoint_host_bytes(Job const& job, int stage);

struct CheckpointTime {
  Seconds gather;  // to the first rank: an all-gather of the bytes over all ranks
  Seconds copy;    // to host memory: through pageable memory, pinned if asynchronous
  Seconds write;

  Seconds total() const { return gather + copy + write; }
};

// sharded: all ranks copy at once (shared_copy_time), a node writes its ranks' bytes at `bandwidth`, all
// nodes together not above shared_bandwidth. gathered: the first rank copies and writes alone. The
// coordinator's .metadata, some hundred bytes for a tensor and shard, is not counted.
CheckpointTime checkpoint_time(Profile const& profile, CollectivePrices& collectives, Job const& trainer);
// That training waits for.
Seconds blocking_time(CheckpointTime const& t, CheckpointMode mode);

// Reading at the same bandwidths, then the copy to the GPU; gathered: the first rank reads all of it, which
// then goes the gather's way back. Frozen models are no part of it.
Seconds load_time(Profile const& profile, CollectivePrices& collectives, Job const& trainer);

// The same of what a trainer reads of a checkpoint that another one may have written.
struct ReadBytes {
  Bytes of_rank;  // the most that one reads
  Bytes of_all;
  bool gathered = false;
};
Seconds load_time(Profile const& profile, CollectivePrices& collectives, Job const& trainer,
                  ReadBytes const& read);

}  // namespace rollcast
