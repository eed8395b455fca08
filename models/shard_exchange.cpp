#include "models/shard_exchange.hpp"

#include <algorithm>

#include "models/gradient_buckets.hpp"

namespace rollcast {

bool is_fully_sharded(TrainerOptions const& t) {
  return t.kind == TrainerKind::fsdp2 || (t.kind == TrainerKind::deepspeed && t.zero_stage == 3);
}

Group shard_group(Job const& job) {
  Parallel const& p = job.train.parallel;
  int const all = std::max(1, job.cluster.gpus() / (p.tp * p.pp));
  return placed_group(job.cluster, job.train.shard_ranks > 0 ? std::min(job.train.shard_ranks, all) : all,
                      p.tp);
}

ShardExchange shard_exchange(CollectivePrices& collectives, Job const& job, int layer) {
  if (!is_fully_sharded(job.train)) return {};
  Group const group = shard_group(job);
  if (group.ranks <= 1) return {};
  Stage const one{layer, 1, false, false};
  Bytes const parameters = size_of(job.train.weights) * stage_parameters(job, one);
  Bytes const gradients = size_of(job.train.gradients) * trained_parameters(job, one);
  return {collectives.at(CollectiveKind::all_gather, group, parameters).total(),
          collectives.at(CollectiveKind::reduce_scatter, group, gradients).total()};
}

Seconds exposed_forward(ShardExchange const& e, Seconds compute) {
  return max(Seconds(0), e.gather - compute);
}

Seconds exposed_backward(ShardExchange const& e, Seconds compute) {
  return max(Seconds(0), e.gather + e.scatter - compute);
}

}  // namespace rollcast
