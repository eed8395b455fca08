#include "models/residency.hpp"

#include <algorithm>

#include "models/state_bytes.hpp"

namespace rollcast {
namespace {

Residency on_gpu_in(Job const& job, std::vector<Phase> const& gpu) {
  return {gpu, without(step_phases(job), gpu)};
}

std::vector<Phase> engine_phases(Job const& job, std::vector<Phase> const& awake) {
  std::vector<Phase> const phases = step_phases(job);
  bool const sleeps = contains(phases, Phase::sleep) && job.rollout.sleep_level > 0;
  return sleeps ? only(phases, awake) : phases;
}

bool reference_swaps_in(Job const& job) {
  std::vector<ModelRole> const roles = model_roles(job.algorithm);
  return job.framework.reference_on_host && std::any_of(roles.begin(), roles.end(), [](ModelRole const& r) {
           return r.role == Role::reference && !r.shares_actor_weights;
         });
}

}  // namespace

Residency weights_residency(Job const& job, ModelRole const& r) {
  std::vector<Phase> const all = step_phases(job);
  if (job.train.offload.parameters && zero_stage(job.train) >= 3) return {{}, all};
  if (r.role == Role::reference && job.framework.reference_on_host)
    return {only(all, {Phase::reference}), all};
  bool const leaves =
      job.train.offload.parameters || (job.framework.parameters_offload && has_rollout(job.algorithm));
  std::vector<Phase> gpu = all;
  if (leaves && r.role == Role::actor) {
    gpu = without(all, {Phase::wake, Phase::generate, Phase::sleep, Phase::score});
  } else if (leaves) {
    std::vector<Phase> used = forward_phases(job, r);
    for (Phase p : update_phases(job, r)) used.push_back(p);
    if (r.trained) used.push_back(Phase::checkpoint);
    gpu = only(all, used);
  }
  if (r.role == Role::actor && reference_swaps_in(job)) gpu = without(gpu, {Phase::reference});
  return on_gpu_in(job, gpu);
}

Residency gradients_residency(Job const& job, ModelRole const& r) {
  std::vector<Phase> const update = update_phases(job, r);
  if (job.train.offload.gradients) return {{}, update};
  bool const freed = job.framework.optimizer_offload && has_rollout(job.algorithm);
  if (job.train.kind == TrainerKind::megatron && !freed) return {step_phases(job), {}};
  return {update, {}};
}

Residency optimizer_residency(Job const& job, ModelRole const& r) {
  std::vector<Phase> const all = step_phases(job);
  if (job.train.offload.optimizer) return {{}, all};
  if (job.framework.optimizer_offload && has_rollout(job.algorithm))
    return on_gpu_in(job, update_phases(job, r));
  return {all, {}};
}

std::vector<Phase> engine_weight_phases(Job const& job) {
  return engine_phases(job, {Phase::wake, Phase::generate, Phase::sleep, Phase::weight_sync});
}

std::vector<Phase> engine_kv_phases(Job const& job) {
  return engine_phases(job, {Phase::wake, Phase::generate, Phase::sleep});
}

}  // namespace rollcast
