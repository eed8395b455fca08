#include "models/residency.hpp"

#include <algorithm>

#include "models/state_bytes.hpp"

namespace rollcast {
namespace {

Residency on_gpu_in(Job const& job, std::vector<Phase> const& gpu) {
  return {gpu, without(step_phases(job), gpu)};
}

// The phases from the first of `starts` after position `from` up to the first of `ends`, that one excluded;
// the step repeats, so the order is a circle. Empty when no phase starts.
std::vector<Phase> stretch(std::vector<Phase> const& order, std::size_t from,
                           std::vector<Phase> const& starts, std::vector<Phase> const& ends) {
  std::size_t const n = order.size();
  std::size_t first = 1;
  while (first <= n && !contains(starts, order[(from + first) % n])) ++first;
  if (first > n) return {};
  std::vector<Phase> out;
  for (std::size_t i = 0; i < n; ++i) {
    Phase const p = order[(from + first + i) % n];
    if (i > 0 && contains(ends, p)) break;
    out.push_back(p);
  }
  return out;
}

std::size_t position(std::vector<Phase> const& order, Phase p) {
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), p) - order.begin());
}

std::vector<Phase> trainer_phases() {
  return {Phase::old_logprob, Phase::reference, Phase::values, Phase::update_critic, Phase::update_actor};
}

// From the end of the weight sync (without one: from generate) to the first phase in which the trainer
// computes.
std::vector<Phase> weights_away(Job const& job) {
  std::vector<Phase> const order = step_phases(job);
  std::vector<Phase> const synced = stretch(order, 0, {Phase::weight_sync}, trainer_phases());
  if (!synced.empty()) return without(synced, {Phase::weight_sync});
  return stretch(order, 0, {Phase::generate}, trainer_phases());
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
    gpu = without(all, weights_away(job));
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
  // ZeRO-3's partitions lie in one buffer from the start (stage3.py, grad_partitions_flat_buffer).
  if (job.train.kind == TrainerKind::deepspeed && zero_stage(job.train) >= 3) return {step_phases(job), {}};
  bool const freed = job.framework.optimizer_offload && has_rollout(job.algorithm);
  if (job.train.kind == TrainerKind::megatron && !freed) return {step_phases(job), {}};
  return {update, {}};
}

Residency optimizer_residency(Job const& job, ModelRole const& r) {
  std::vector<Phase> const all = step_phases(job);
  if (job.train.offload.optimizer || job.train.paged_optimizer) return {{}, all};
  if (job.framework.optimizer_offload && has_rollout(job.algorithm))
    return on_gpu_in(job, update_phases(job, r));
  return {all, {}};
}

bool engine_sleeps(Job const& job) {
  return contains(step_phases(job), Phase::sleep) && job.rollout.sleep_level > 0;
}

std::vector<Phase> engine_weight_phases(Job const& job) {
  std::vector<Phase> order = step_phases(job);
  if (!engine_sleeps(job)) return order;
  std::vector<Phase> awake = stretch(order, position(order, Phase::sleep),
                                     {Phase::weight_sync, Phase::wake, Phase::generate}, {Phase::sleep});
  awake.push_back(Phase::sleep);
  return only(order, awake);
}

std::vector<Phase> engine_kv_phases(Job const& job) {
  std::vector<Phase> order = step_phases(job);
  if (!engine_sleeps(job)) return order;
  std::vector<Phase> const synced =
      stretch(order, position(order, Phase::sleep), {Phase::weight_sync}, {Phase::sleep});
  if (synced.empty() || !job.framework.wake_by_tags) return engine_weight_phases(job);
  std::vector<Phase> kv = without(synced, {Phase::weight_sync});
  kv.push_back(Phase::sleep);
  return only(order, kv);
}

}  // namespace rollcast
