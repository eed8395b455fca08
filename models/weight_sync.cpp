#include "models/weight_sync.hpp"

#include <algorithm>

#include "models/adapter.hpp"
#include "models/shard_exchange.hpp"

namespace rollcast {
namespace {

double tensor_count(Architecture const& a) {
  double count = 0;
  for (int layer = 0; layer < a.layers; ++layer) {
    for (Tensor const& t : layer_tensors(a, layer)) count += static_cast<double>(t.copies);
  }
  for (Tensor const& t : outer_tensors(a)) count += static_cast<double>(t.copies);
  return count;
}

// Two factors for each target.
double adapter_tensor_count(Adapter const& adapter, Architecture const& a) {
  double count = 0;
  for (int layer = 0; layer < a.layers; ++layer) {
    for (Tensor const& t : layer_tensors(a, layer)) {
      if (is_target(adapter, t)) count += 2 * static_cast<double>(t.copies);
    }
  }
  return count;
}

// What is sent, without how.
WeightSync payload(Job const& job) {
  WeightSync s;
  auto const& adapter = job.algorithm.adapter;
  bool const adapter_alone = adapter && adapter->sync == AdapterSync::adapter;
  s.weights = adapter_alone
                  ? size_of(job.train.weights) * static_cast<double>(adapter_parameters(*adapter, job.model))
                  : size_of(job.rollout.weights) * static_cast<double>(count_parameters(job.model).total);
  s.tensors = adapter_alone ? adapter_tensor_count(*adapter, job.model) : tensor_count(job.model);
  s.per_tensor = job.framework.sync_per_tensor * s.tensors;
  return s;
}

Seconds sharded_gather_time(CollectivePrices& collectives, Job const& job, Bytes weights) {
  int const ranks = job.train.shard_ranks > 0 ? job.train.shard_ranks : job.cluster.gpus();
  if (ranks == 1) return Seconds(0);
  return collectives.at(CollectiveKind::all_gather, placed_group(job.cluster, ranks, 1), weights).total();
}

Seconds gather_time(CollectivePrices& collectives, Job const& job, Bytes weights) {
  if (is_fully_sharded(job.train)) return sharded_gather_time(collectives, job, weights);
  Parallel const& parallel = job.train.parallel;
  ParameterCounts const count = count_parameters(job.model);
  Bytes const experts = weights * (static_cast<double>(count.experts) / static_cast<double>(count.total));
  Bytes const dense = weights - experts;
  Seconds gather;
  if (parallel.pp > 1) {
    // Pipeline stages are the outermost dimension of the rank order: data-parallel ranks lie between them.
    Group const stages = placed_group(job.cluster, parallel.pp, job.cluster.gpus() / parallel.pp);
    Bytes const part = dense / parallel.tp + experts / parallel.expert_block();
    gather += collectives.at(CollectiveKind::broadcast, stages, part).total();
  }
  auto const all_gather = [&](int ranks, int stride, Bytes whole) {
    if (ranks == 1 || whole.value <= 0) return Seconds(0);
    return collectives.at(CollectiveKind::all_gather, placed_group(job.cluster, ranks, stride), whole)
        .total();
  };
  return gather + all_gather(parallel.tp, 1, dense) +
         all_gather(parallel.expert_tp(), 1, experts / parallel.ep) +
         all_gather(parallel.ep, parallel.expert_tp(), experts);
}

}  // namespace

WeightSync ipc_weight_sync(Profile const& p, CollectivePrices& collectives, Job const& job) {
  WeightSync s = payload(job);
  s.gather = gather_time(collectives, job, s.weights);
  s.copy = memory_time(p, s.weights * 2.0);
  return s;
}

WeightSync broadcast_weight_sync(Profile const& p, CollectivePrices& collectives, Job const& trainer,
                                 Job const& engines, bool same_node) {
  WeightSync s = payload(trainer);
  s.gather = gather_time(collectives, trainer, s.weights);
  // On several nodes the sender's one NIC sets the pace, so the ring has one rank of each node.
  int const receivers = engines.cluster.nodes;
  Group const group = same_node ? Group{std::min(1 + engines.cluster.gpus(), trainer.cluster.node.gpus), 1, 1}
                                : Group{1 + receivers, 1 + receivers, 1};
  Seconds const sent = collectives.at(CollectiveKind::broadcast, group, s.weights).total();
  s.transfer = max(Seconds(0), sent - s.gather - s.per_tensor);
  s.copy = memory_time(p, s.weights * 2.0);
  return s;
}

}  // namespace rollcast
