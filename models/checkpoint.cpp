#include "models/checkpoint.hpp"

#include "models/adapter.hpp"
#include "models/roles.hpp"
#include "models/sharding.hpp"
#include "models/stage_layers.hpp"
#include "models/state_bytes.hpp"

namespace rollcast {

Bytes checkpoint_bytes(Job const& job, int stage) {
  std::optional<Adapter> const adapter = adapter_of(job, {Role::actor, true, false});
  Stage const s = pipeline_stages(job.model, job.train, 1)[static_cast<std::size_t>(stage)];
  RankParameters const n = rank_parameters(job.model, s, Head::vocabulary, job.train.parallel, adapter);
  double const dense = adapter ? n.adapter_dense : n.dense;
  double const experts = adapter ? n.adapter_experts : n.experts;
  StateBytes const each = trained_bytes_per_parameter(adapter_types(adapter, job.train));
  Bytes saved = each.weights.value > 0 ? each.weights : each.master_weights;
  if (job.checkpoint.optimizer) saved = each.weights + each.master_weights + each.optimizer_states;
  return saved * (dense / shard_ranks(job) + experts / expert_shard_ranks(job));
}

}  // namespace rollcast
