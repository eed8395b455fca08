#include "models/checkpoint.hpp"

#include <algorithm>

#include "models/adapter.hpp"
#include "models/roles.hpp"
#include "models/sharding.hpp"
#include "models/stage_layers.hpp"
#include "models/state_bytes.hpp"
#include "models/switching.hpp"

namespace rollcast {
namespace {

struct SavedParameters {
  double dense = 0;  // on a rank, before data parallelism cuts them
  double experts = 0;
  StateBytes each;
};

SavedParameters saved_parameters(Job const& job, int stage) {
  std::optional<Adapter> const adapter = adapter_of(job, {Role::actor, true, false});
  Stage const s = pipeline_stages(job.model, job.train, 1)[static_cast<std::size_t>(stage)];
  RankParameters const n = rank_parameters(job.model, s, Head::vocabulary, job.train.parallel, adapter);
  SavedParameters saved;
  saved.dense = adapter ? n.adapter_dense : n.dense;
  saved.experts = adapter ? n.adapter_experts : n.experts;
  saved.each = trained_bytes_per_parameter(adapter_types(adapter, job.train));
  saved.each.gradients = Bytes(0);
  if (job.checkpoint.optimizer) return saved;
  saved.each.optimizer_states = Bytes(0);
  if (saved.each.weights.value > 0) saved.each.master_weights = Bytes(0);
  return saved;
}

// Ranks that cut the dense part of what stage 3 cuts; a number of their own (HSDP) holds for FSDP.
int cut_ranks(Job const& job) {
  int const all = shard_ranks(job);
  bool const fewer = job.train.kind == TrainerKind::fsdp2 && job.train.shard_ranks > 0;
  return fewer ? std::min(all, job.train.shard_ranks) : all;
}

int stage_ranks(Job const& job) { return job.cluster.gpus() / job.train.parallel.pp; }

bool is_gathered(Job const& job) { return job.checkpoint.format == CheckpointFormat::gathered; }

// To or from storage: of the fullest node's link, of the storage's.
Seconds storage_time(CheckpointOptions const& c, Bytes of_node, Bytes of_all) {
  Seconds const link = of_node / c.bandwidth;
  return c.shared_bandwidth.value > 0 ? max(link, of_all / c.shared_bandwidth) : link;
}

Node one_gpu_of(Node node) {
  node.gpus = 1;
  node.numa_nodes = 1;
  return node;
}

Seconds gather_time(CollectivePrices& collectives, Job const& job, Bytes all) {
  int const ranks = job.cluster.gpus();
  if (ranks == 1) return Seconds(0);
  return collectives.at(CollectiveKind::all_gather, placed_group(job.cluster, ranks, 1), all).total();
}

template <class OfStage>
Bytes largest(Job const& job, OfStage const& of_stage) {
  Bytes most;
  for (int stage = 0; stage < job.train.parallel.pp; ++stage) most = max(most, of_stage(job, stage));
  return most;
}

Bytes stage_bytes(Job const& job, int stage) { return checkpoint_bytes(job, stage); }

}  // namespace

Bytes checkpoint_bytes(Job const& job, int stage) {
  SavedParameters const p = saved_parameters(job, stage);
  return p.each.total() * (p.dense / shard_ranks(job) + p.experts / expert_shard_ranks(job));
}

Bytes checkpoint_bytes(Job const& job) {
  Bytes sum;
  for (int stage = 0; stage < job.train.parallel.pp; ++stage)
    sum += checkpoint_bytes(job, stage) * stage_ranks(job);
  return sum;
}

Bytes loaded_bytes(Job const& job, int stage) {
  SavedParameters const p = saved_parameters(job, stage);
  int const zero = zero_stage(job.train);
  auto const held = [&](Bytes each, bool cut) {
    return each *
           (cut ? p.dense / cut_ranks(job) + p.experts / expert_shard_ranks(job) : p.dense + p.experts);
  };
  return held(p.each.weights, zero >= 3) + held(p.each.master_weights + p.each.optimizer_states, zero >= 1);
}

Bytes checkpoint_host_bytes(Job const& job, int stage) {
  if (!is_gathered(job)) return job.checkpoint.copies * checkpoint_bytes(job, stage);
  if (stage > 0) return Bytes(0);
  return job.checkpoint.copies * checkpoint_bytes(job) / std::min(job.cluster.node.gpus, stage_ranks(job));
}

SavedBytes saved_bytes_per_parameter(Job const& job) {
  StateBytes const each = saved_parameters(job, 0).each;
  Bytes const weights = each.weights.value > 0 ? each.weights : each.master_weights;
  return {weights, each.total() - weights};
}

CheckpointTime checkpoint_time(Profile const& profile, CollectivePrices& collectives, Job const& trainer) {
  CheckpointOptions const& c = trainer.checkpoint;
  Node const& node = trainer.cluster.node;
  bool const pinned = c.mode == CheckpointMode::async;
  Bytes const all = checkpoint_bytes(trainer);
  CheckpointTime t;
  HostCopy copy{Direction::device_to_host, largest(trainer, stage_bytes), "checkpoint", pinned};
  if (is_gathered(trainer)) {
    copy.bytes = all;
    t.gather = gather_time(collectives, trainer, all);
    t.copy = shared_copy_time(profile, one_gpu_of(node), copy);
    t.write = storage_time(c, all, all);
  } else {
    t.copy = shared_copy_time(profile, node, copy);
    t.write = storage_time(c, node.gpus * copy.bytes, all);
  }
  return t;
}

Seconds blocking_time(CheckpointTime const& t, CheckpointMode mode) {
  return mode == CheckpointMode::sync ? t.total() : t.gather + t.copy;
}

Seconds load_time(Profile const& profile, CollectivePrices& collectives, Job const& trainer) {
  if (is_gathered(trainer)) {
    Bytes const all = checkpoint_bytes(trainer);
    return load_time(profile, collectives, trainer, {all, all, true});
  }
  Bytes all;
  for (int stage = 0; stage < trainer.train.parallel.pp; ++stage)
    all += loaded_bytes(trainer, stage) * stage_ranks(trainer);
  return load_time(profile, collectives, trainer, {largest(trainer, loaded_bytes), all, false});
}

Seconds load_time(Profile const& profile, CollectivePrices& collectives, Job const& trainer,
                  ReadBytes const& read) {
  CheckpointOptions const& c = trainer.checkpoint;
  Node const& node = trainer.cluster.node;
  HostCopy const copy{Direction::host_to_device, read.of_rank, "checkpoint", false};
  if (read.gathered)
    return storage_time(c, read.of_all, read.of_all) + shared_copy_time(profile, one_gpu_of(node), copy) +
           gather_time(collectives, trainer, read.of_all);
  return storage_time(c, node.gpus * copy.bytes, read.of_all) + shared_copy_time(profile, node, copy);
}

}  // namespace rollcast
