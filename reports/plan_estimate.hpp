// Rough seconds of a step, to order layouts before any is simulated. Not a forecast: rates are shares of the
// data sheet, and what costs more is only known to cost more. Pure.
//
//   trainer   FLOPs of forward, backward, recomputation and the forward passes of log-probabilities,
//   reference
//             and values / (GPUs x half the matrix peak), x (m + pp - 1) / m for m micro-batches a replica,
//             less what tensor and context parallelism lose; host copies of the states at PCIe's rate
//   engines   decode steps of the mean response, each the weights and the KV of the running sequences over
//   the
//             memory bandwidth and a fixed time, once for each wave that the KV pages allow; and the tail
#pragma once

#include "models/job.hpp"

namespace rollcast {

// Seconds on the pool of the actor, of the engines. parameters: of the model, which are slow to count.
double estimate_training(Job const& job, ParameterCounts const& parameters);
double estimate_generation(Job const& job, ParameterCounts const& parameters);

}  // namespace rollcast
