#include "models/pools.hpp"

#include <gtest/gtest.h>

#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

// PPO: actor and reference on one node, critic and reward model on a second, engines on two more.
Job three_pools() {
  Job job = llama_job(4);
  job.algorithm.kind = AlgorithmKind::ppo;
  job.algorithm.kl_reference = job.algorithm.reward_model = true;
  job.pools = {{"actor", h100_cluster(1), false},
               {"critic", h100_cluster(1), false},
               {"engines", h100_cluster(2), false}};
  job.role_pools = {.actor = 0, .critic = 1, .reference = 0, .reward = 1, .rollout = 2};
  job.critic = catalog_model("qwen2.5-7b");
  return job;
}

TEST(Pools, WithoutPoolsAllShareTheCluster) {
  Job const job = llama_job(2);
  ASSERT_EQ(pools_of(job).size(), 1U);
  EXPECT_EQ(pools_of(job)[0].name, "all");
  EXPECT_EQ(total_gpus(job), 16);
  EXPECT_TRUE(colocated(job));
  for (Role r : {Role::actor, Role::critic, Role::reference, Role::reward, Role::rollout, Role::process}) {
    EXPECT_EQ(pool_of(job, r), 0) << name_of(r);
    EXPECT_TRUE(runs_here(job, r)) << name_of(r);
  }
}

TEST(Pools, ATrainerAloneIsNotColocated) {
  Job job = llama_job(1);
  job.algorithm.kind = AlgorithmKind::sft;
  EXPECT_FALSE(colocated(job));
}

TEST(Pools, EachViewHasItsRoles) {
  Job const job = three_pools();
  EXPECT_EQ(total_gpus(job), 32);
  EXPECT_FALSE(colocated(job));
  EXPECT_EQ(pool_of(job, Role::process), pool_of(job, Role::actor));
  Job const actor = on_pool(job, 0), critic = on_pool(job, 1), engines = on_pool(job, 2);
  EXPECT_EQ(actor.cluster.gpus(), 8);
  EXPECT_EQ(engines.cluster.gpus(), 16);
  EXPECT_TRUE(runs_here(actor, Role::reference));
  EXPECT_FALSE(runs_here(actor, Role::critic));
  EXPECT_TRUE(runs_here(critic, Role::reward));
  EXPECT_FALSE(runs_here(critic, Role::rollout));
  EXPECT_TRUE(holds_models(actor) && holds_models(critic));
  EXPECT_FALSE(holds_models(engines));
}

// Whatever the placement, every role of the algorithm is in exactly one view.
TEST(Pools, EveryRoleIsInOneView) {
  for (int placement = 0; placement < 243; ++placement) {
    Job job = three_pools();
    int rest = placement;
    for (int* pool : {&job.role_pools.actor, &job.role_pools.critic, &job.role_pools.reference,
                      &job.role_pools.reward, &job.role_pools.rollout}) {
      *pool = rest % 3;
      rest /= 3;
    }
    for (Role r : {Role::actor, Role::critic, Role::reference, Role::reward, Role::rollout}) {
      int views = 0;
      for (int pool = 0; pool < 3; ++pool) views += runs_here(on_pool(job, pool), r) ? 1 : 0;
      EXPECT_EQ(views, 1) << name_of(r) << " of placement " << placement;
    }
    EXPECT_EQ(colocated(job), job.role_pools.actor == job.role_pools.rollout);
  }
}

TEST(Pools, ARoleBringsItsModel) {
  Job const job = three_pools();
  EXPECT_EQ(for_role(job, Role::critic).model.name, "qwen2.5-7b");
  EXPECT_EQ(for_role(job, Role::critic).only_pool, 1);
  EXPECT_EQ(for_role(job, Role::reward).model.name, "llama-3.1-8b");  // none of its own
  EXPECT_EQ(for_role(job, Role::reference).model.name, "llama-3.1-8b");
}

TEST(Pools, PartsOfANodeShareIt) {
  Job job = three_pools();
  EXPECT_FALSE(same_node(job, 0, 1));
  job.pools[0].part_of_node = job.pools[1].part_of_node = true;
  EXPECT_TRUE(same_node(job, 0, 1));
  EXPECT_FALSE(same_node(job, 0, 2));
  EXPECT_FALSE(same_node(job, 0, 0));
}

}  // namespace
}  // namespace rollcast
