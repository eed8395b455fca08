// All-reduces of several communicators over the same GPUs at a time, each on a stream of its own, issued by
// every GPU in one order or in an order of its own (NVIDIA/nccl issue 195: 16 GPUs with 128 communicators,
// each with its own thread and stream, hang after some rounds).
#pragma once

#include <cstdint>

#include "models/collective_options.hpp"
#include "models/collective_order.hpp"

namespace rollcast {

// One collective of each communicator. step: each has an order of its own.
CollectivePrograms side_by_side(CommunicatorOptions const& o, int gpus, std::uint64_t seed, int step,
                                Seconds each);

// The share of `replications` (at least 1) orders in which the GPUs wait for each other in a circle. Two GPUs
// with two communicators and one place: 1/2; with n communicators they must draw the same of n! orders.
double deadlock_share(CommunicatorOptions const& o, int gpus, std::uint64_t seed, int replications);

}  // namespace rollcast
