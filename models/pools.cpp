#include "models/pools.hpp"

#include <algorithm>
#include <stdexcept>

namespace rollcast {

std::vector<Pool> pools_of(Job const& job) {
  if (!job.pools.empty()) return job.pools;
  return {{"all", job.cluster, false}};
}

int pool_of(Job const& job, Role role) {
  switch (role) {
    case Role::actor:
    case Role::process:
      return job.role_pools.actor;
    case Role::critic:
      return job.role_pools.critic;
    case Role::reference:
      return job.role_pools.reference;
    case Role::reward:
      return job.role_pools.reward;
    case Role::rollout:
      return job.role_pools.rollout;
  }
  throw std::logic_error("no such Role");
}

bool runs_here(Job const& job, Role role) {
  if (job.serve && role != Role::rollout) return false;
  return job.only_pool < 0 || pool_of(job, role) == job.only_pool;
}

bool holds_models(Job const& job) {
  std::vector<ModelRole> const roles = model_roles(job.algorithm);
  return std::any_of(roles.begin(), roles.end(), [&](ModelRole const& r) { return runs_here(job, r.role); });
}

bool colocated(Job const& job) {
  return has_rollout(job.algorithm) && !job.serve && pool_of(job, Role::rollout) == pool_of(job, Role::actor);
}

std::int64_t total_gpus(Job const& job) {
  std::int64_t sum = 0;
  for (Pool const& p : pools_of(job)) sum += p.cluster.gpus();
  return sum;
}

bool has_network(Job const& job) {
  return job.cluster.node.nics > 0 && (job.cluster.nodes > 1 || job.pools.size() > 1);
}

bool same_node(Job const& job, int a, int b) {
  if (a == b) return false;
  std::vector<Pool> const pools = pools_of(job);
  return pools[static_cast<std::size_t>(a)].part_of_node && pools[static_cast<std::size_t>(b)].part_of_node;
}

Job on_pool(Job const& job, int pool) {
  Job view = job;
  view.cluster = pools_of(job)[static_cast<std::size_t>(pool)].cluster;
  view.only_pool = pool;
  return view;
}

TrainerOptions trainer_of(Job const& job, Role role) {
  TrainerOptions t = job.train;
  if (has_value_head(role) && t.critic_zero_stage) t.zero_stage = *t.critic_zero_stage;
  return t;
}

Job for_role(Job const& job, Role role) {
  Job view = on_pool(job, pool_of(job, role));
  view.train = trainer_of(job, role);
  view.model = architecture_of(job, role);
  return view;
}

Architecture const& architecture_of(Job const& job, Role role) {
  if (role == Role::critic && job.critic) return *job.critic;
  if (role == Role::reward && job.reward_model) return *job.reward_model;
  return job.model;
}

}  // namespace rollcast
