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

WeightSync ipc_weight_sync(Profile const& p, Job const& job) {
  WeightSync s;
  s.weights = size_of(job.rollout.weights) * static_cast<double>(count_parameters(job.model).total);
  s.tensors = tensor_count(job.model);
  int const holders = job.train.parallel.tp * job.train.parallel.pp;
  if (holders > 1) {
    // Pipeline stages are the outermost dimension of the rank order: data-parallel ranks lie between them.
    int const stride = job.train.parallel.pp > 1 ? job.cluster.gpus() / job.train.parallel.pp : 1;
    Group const group = placed_group(job.cluster, holders, stride);
    s.gather = collective_price(p, job.cluster, CollectiveKind::all_gather, group, s.weights).total();
  }
  s.copy = memory_time(p, s.weights * 2.0);
  s.per_tensor = job.framework.sync_per_tensor * s.tensors;
  return s;
}

}  // namespace rollcast
