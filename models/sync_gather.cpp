#include "models/sync_gather.hpp"

#include <cmath>

#include "models/pools.hpp"

namespace rollcast {

Bytes gathered_for_sync(Job const& job, RankLedger const& l) {
  FrameworkOptions const& f = job.framework;
  if (f.sync_gather == SyncGather::tensor || !runs_here(job, Role::actor)) return Bytes(0);
  if (f.sync_gather == SyncGather::first_rank && l.pipeline_stage > 0) return Bytes(0);
  if (f.sync_gathered.value > 0) return f.sync_gathered;
  if (f.sync_gather != SyncGather::shards)
    return static_cast<double>(count_parameters(job.model).total) * size_of(job.rollout.weights);
  // FSDP2's parameters are its master weights; else the weights.
  Bytes weights, masters;
  for (LedgerLine const& line : l.lines) {
    if (line.role != Role::actor || line.host || line.in_pass) continue;
    if (line.category == MemoryCategory::weights) weights += line.bytes;
    if (line.category == MemoryCategory::master_weights) masters += line.bytes;
  }
  return weights.value > 0 ? weights : masters;
}

bool gathers_before_wake(Job const& job) {
  return job.framework.gather_before_wake && colocated(job) &&
         job.framework.sync_gather != SyncGather::shards;
}

RefitRule refit_rule(Job const& job, ProcessMemory const& process) {
  bool const syncs = colocated(job) && contains(step_phases(job), Phase::weight_sync);
  if (!syncs || job.framework.kind != FrameworkKind::nemo_rl) return {};
  return {job.framework.refit_buffer, process.refit_share};
}

Bytes refit_buffer(RefitRule const& rule, Bytes free) {
  return rule.told.value > 0 ? rule.told : rule.share * max(Bytes(0), free);
}

std::optional<TooLarge> too_large_for_refit(Job const& job, RankLedger const& l) {
  if (!job.framework.refit_whole_tensors) return std::nullopt;
  Bytes buffer;
  for (LedgerLine const& line : l.lines) {
    if (line.name == kRefitBuffer) buffer = line.bytes;
  }
  if (!(buffer.value > 0)) return std::nullopt;
  TooLarge largest;
  largest.half = bytes(std::floor(buffer.value / 2));
  auto const look_at = [&](std::vector<Tensor> const& tensors) {
    for (Tensor const& t : tensors) {
      Bytes const each = static_cast<double>(t.rows * t.columns) * size_of(job.rollout.weights);
      if (each > largest.bytes) {
        largest.bytes = each;
        largest.tensor = t.name;
      }
    }
  };
  look_at(outer_tensors(job.model));
  for (int layer = 0; layer < job.model.layers; ++layer) look_at(layer_tensors(job.model, layer));
  if (largest.bytes > largest.half) return largest;
  return std::nullopt;
}

}  // namespace rollcast
