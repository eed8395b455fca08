#include "scenarios/check_pools.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "models/pools.hpp"
#include "models/roles.hpp"

namespace rollcast {
namespace {

// The other roles' models are cut as the actor is.
std::vector<Problem> check_role_pool(Job const& job, Role role, std::string key) {
  int const pool = pool_of(job, role);
  std::int64_t const gpus = on_pool(job, pool).cluster.gpus();
  int const replica = job.train.parallel.ranks_per_replica();
  if (gpus % replica == 0) return {};
  return {{"", 0, 0, std::move(key),
           fmt::format("the {} GPUs of pool {} are not a multiple of the {} ranks of a replica", gpus,
                       job.pools[static_cast<std::size_t>(pool)].name, replica),
           "give the pool more GPUs, or another role's pool", ""}};
}

// GPUs that are paid for and do nothing.
std::vector<Problem> check_unused_pools(Job const& job) {
  std::vector<bool> used(job.pools.size());
  for (ModelRole const& r : model_roles(job.algorithm))
    used[static_cast<std::size_t>(pool_of(job, r.role))] = true;
  if (has_rollout(job.algorithm)) used[static_cast<std::size_t>(pool_of(job, Role::rollout))] = true;
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < used.size(); ++i) {
    std::string const& name = job.pools[i].name;
    if (!used[i])
      problems.push_back(
          {"", 0, 0, "pools." + name, "no role runs on this pool",
           fmt::format("write rollout: {{pool: {0}}}, train: {{pool: {0}}} or placement: {{...}} for "
                       "another role, or take the pool out",
                       name),
           ""});
  }
  return problems;
}

}  // namespace

std::vector<Problem> check_pools(Job const& job) {
  std::vector<Problem> problems = check_unused_pools(job);
  for (ModelRole const& r : model_roles(job.algorithm)) {
    if (r.role == Role::actor || pool_of(job, r.role) == job.role_pools.actor) continue;
    for (Problem& p : check_role_pool(job, r.role, fmt::format("placement.{}", name_of(r.role))))
      problems.push_back(std::move(p));
  }
  return problems;
}

}  // namespace rollcast
