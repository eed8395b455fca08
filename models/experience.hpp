// Forwards of reference model, critic and reward model on GPUs of their own while samples are generated: how
// much of them is left, or waited for, once the last sample is there.
#pragma once

#include <vector>

#include "models/units.hpp"

namespace rollcast {

// When a server is done that takes `work` in equal parts, one for each arrival, in their order, and is busy
// until free_at:
//   end_k = max(end_(k-1), arrival_k) + work / n,  end_0 = free_at
// No arrivals: free_at + work.
Seconds stream_end(std::vector<Seconds> arrivals, Seconds work, Seconds free_at);

// One model's forwards when every engine's batch waits for them before the next is generated. `forward`: of
// all samples, shared by `replicas` of the model. A batch is one replica's, and takes
//   s = forward x min(replicas, engines) / (engines x batches)
// Engines fall out of step at their first batch and then find their replica idle, unless its q = engines /
// replicas engines keep it busy longer than a batch of `generation` / batches = g lasts:
//   batches x max(s, q s - g) + (q - 1) s
// q below 1 counts as 1. This is the wait of the last engine; batches < 1, engines < 1 or replicas < 1:
// std::logic_error.
Seconds batch_waits(Seconds forward, int replicas, int engines, int batches, Seconds generation);

}  // namespace rollcast
