// What a checkpoint saves of the actor.
#pragma once

#include "models/job.hpp"

namespace rollcast {

// Bytes that a rank of a pipeline stage writes: weights in the type that the trainer keeps them in, with
// CheckpointOptions::optimizer the master weights beside them and the states of the optimizer; of an adapter
// run the adapter's. What several ranks hold is written once, in equal parts. Llama-3.1-8B, FSDP2 with fp32
// parameters over eight ranks: 8,030,261,248 x (4 + 8) B / 8 = 12.0 GB a rank.
Bytes checkpoint_bytes(Job const& job, int stage);

}  // namespace rollcast
