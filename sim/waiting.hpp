// Who waits for whom once ranks of a pool take part no more: the propagation from the ranks that stopped,
// over the groups that they share, to every rank of the pool.
//
// Groups that meet in every layer (tensor, context and expert parallelism; all ranks that share parameters
// under FSDP and ZeRO-3) block their members at the next layer of the pass under way; a pipeline stage blocks
// where the next thing that it needs of a stage will not come; other replicas at the reduction of the
// gradients. In a forward pass those finish it, and wait only where there is no controller. Ranks of a
// rollout engine wait for each other in an engine's own group, which the caller's time-out ends.
//
// Within a layer times are as if layers were equally long.
#pragma once

#include "models/stall.hpp"
#include "sim/run_state.hpp"

namespace rollcast {

struct Stopped {
  int pool = 0;
  std::vector<int> ranks;  // within the pool
  Seconds at;
  Stop how = Stop::exited;
  std::string cause;
};

// The pool must have a phase under way.
Stall stall_after(RunState& run, Stopped const& stopped);

// When the rank would come to a micro-batch (or the end) of the pass under way of its replica; for ranks that
// run fewer than the others.
Seconds start_of_micro_batch(RunState& run, int pool, int rank, int from_the_end);

}  // namespace rollcast
