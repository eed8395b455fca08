// Fully sharded trainers (FSDP2, DeepSpeed ZeRO-3): a layer's parameters are gathered for each use and its
// gradients scattered, next to the computation of its neighbours.
#pragma once

#include "models/collective_prices.hpp"
#include "models/job.hpp"
#include "models/stage_prices.hpp"

namespace rollcast {

bool is_fully_sharded(TrainerOptions const& t);

// The ranks that share one copy: shard_ranks, else all that compute different data (data and context
// parallel), tp apart.
Group shard_group(Job const& job);

// Of one layer and micro-batch: an all-gather of its parameters in the weights' type before forward and
// backward, a reduce-scatter of the trained ones' gradients in the gradients' type after backward. Zero
// unless fully sharded.
struct ShardExchange {
  Seconds gather;
  Seconds scatter;
};
ShardExchange shard_exchange(CollectivePrices& collectives, Job const& job, int layer);

// One layer's parameters are gathered while the layer before computes, and its gradients scattered while the
// next one does, on the same links: what remains of the exchange beyond a layer's computation is waited for.
Seconds exposed_forward(ShardExchange const& e, Seconds compute);
Seconds exposed_backward(ShardExchange const& e, Seconds compute);

}  // namespace rollcast
