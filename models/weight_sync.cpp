#include "models/weight_sync.hpp"

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

}  // namespace

WeightSync ipc_weight_sync(Profile const& p, CollectivePrices& collectives, Job const& job) {
  WeightSync s;
  s.weights = size_of(job.rollout.weights) * static_cast<double>(count_parameters(job.model).total);
  s.tensors = tensor_count(job.model);
  Parallel const& parallel = job.train.parallel;
  if (parallel.pp > 1) {
    // Pipeline stages are the outermost dimension of the rank order: data-parallel ranks lie between them.
    Group const stages = placed_group(job.cluster, parallel.pp, job.cluster.gpus() / parallel.pp);
    s.gather += collectives.at(CollectiveKind::broadcast, stages, s.weights / parallel.tp).total();
  }
  if (parallel.tp > 1) {
    Group const shards = placed_group(job.cluster, parallel.tp, 1);
    s.gather += collectives.at(CollectiveKind::all_gather, shards, s.weights).total();
  }
  s.copy = memory_time(p, s.weights * 2.0);
  s.per_tensor = job.framework.sync_per_tensor * s.tensors;
  return s;
}

}  // namespace rollcast
