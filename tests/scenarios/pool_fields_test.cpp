// Pools of GPUs, and who runs on which.
#include "scenarios/text/pool_fields.hpp"

#include <gtest/gtest.h>

#include "models/catalog/catalog.hpp"
#include "models/pools.hpp"
#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

// Two nodes of eight H100, eight cards of 50 GB/s each.
ScenarioResult read(std::string const& pools, std::string const& rest = "",
                    std::vector<std::string> sets = {}) {
  std::string const text =
      "model: llama-3.1-8b\ncluster: {node: hgx-h100, nodes: 2}\nframework: verl\n"
      "algorithm: {kind: grpo, prompts: 48, group_size: 8}\n"
      "workload: {prompt_tokens: 128, response_tokens: 512}\npools: " +
      pools + "\n" + rest;
  return read_scenario_text(text, "pools.yaml", {std::move(sets), {}});
}

std::string const kApart = "train: {pool: train}\nrollout: {pool: rollout}\n";

TEST(PoolFields, NodesAndGpusAreTheSame) {
  for (std::string const size : {"nodes: 1", "gpus: 8"}) {
    ScenarioResult const r = read("{train: {" + size + "}, rollout: {nodes: 1}}", kApart);
    ASSERT_TRUE(r.scenario) << format(r.problems);
    Job const& job = r.scenario->job;
    ASSERT_EQ(job.pools.size(), 2U);
    EXPECT_EQ(job.pools[0].name, "train");
    EXPECT_EQ(job.pools[0].cluster.nodes, 1);
    EXPECT_EQ(job.pools[0].cluster.gpus(), 8);
    EXPECT_FALSE(job.pools[0].part_of_node);
    EXPECT_EQ(job.pools[1].cluster.fabric.name, job.cluster.fabric.name);
    EXPECT_EQ(job.role_pools.actor, 0);
    EXPECT_EQ(job.role_pools.rollout, 1);
    EXPECT_FALSE(colocated(job));
  }
}

TEST(PoolFields, PartsOfANodeShareItsNetworkCards) {
  // 6 + 2 of 8 GPUs: 6 and 2 of 8 cards.
  ScenarioResult const r =
      read("{train: {gpus: 6}, rollout: {gpus: 2}}", kApart, {"cluster.nodes=1", "train.trainer=fsdp2"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  Job const& job = r.scenario->job;
  for (auto const& [pool, gpus] : {std::pair(0U, 6), std::pair(1U, 2)}) {
    EXPECT_TRUE(job.pools[pool].part_of_node);
    EXPECT_EQ(job.pools[pool].cluster.nodes, 1);
    EXPECT_EQ(job.pools[pool].cluster.node.gpus, gpus);
    EXPECT_EQ(job.pools[pool].cluster.node.nics, gpus);
  }
  EXPECT_TRUE(same_node(job, 0, 1));
}

TEST(PoolFields, APartHasOneNetworkCardAtLeast) {
  // One of 8 GPUs where the node has 2 cards: 2 / 8 is none, and it needs a way out.
  ScenarioResult const r =
      read("{train: {gpus: 7}, rollout: {gpus: 1}}", kApart,
           {"cluster.nodes=1", "cluster.node.nics=2", "algorithm.prompts=49", "rollout.parallel.tp=1"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_EQ(r.scenario->job.pools[0].cluster.node.nics, 1);  // 2 x 7 / 8
  EXPECT_EQ(r.scenario->job.pools[1].cluster.node.nics, 1);
}

TEST(PoolFields, ANodeOfItsOwnHasItsFabric) {
  ScenarioResult const r = read("{train: {nodes: 2}, rollout: {nodes: 1, node: hgx-a100}}", kApart);
  ASSERT_TRUE(r.scenario) << format(r.problems);
  Pool const& rollout = r.scenario->job.pools[1];
  EXPECT_EQ(rollout.cluster.node.gpu.name, "a100-sxm-80gb");
  EXPECT_EQ(rollout.cluster.fabric.name, rollout.cluster.node.fabric);
  EXPECT_EQ(total_gpus(r.scenario->job), 24);
}

TEST(PoolFields, ProblemsOfSizes) {
  EXPECT_EQ(problem_of(read("{train: {gpus: 12}}"), "pools.train.gpus").what,
            "12 GPUs are not whole nodes of 8");
  EXPECT_EQ(problem_of(read("{train: {gpus: 8, nodes: 1}}"), "pools.train.gpus").what,
            "a pool has nodes or gpus");
  EXPECT_EQ(problem_of(read("{train: {nodes: 1}, rollout: {gpus: 4}}"), "pools").what,
            "12 GPUs in the pools, 16 in the cluster");
  EXPECT_EQ(problem_of(read("[]"), "pools").what, "not a map of pools");
  EXPECT_EQ(problem_of(read("{train: 2}"), "pools").what, "pool train is not a map");
  EXPECT_FALSE(read("{train: {nods: 1}}").scenario);
}

TEST(PoolFields, UnknownPoolsAreNamed) {
  std::string const pools = "{train: {nodes: 1}, rollout: {nodes: 1}}";
  Problem const near = problem_of(read(pools, "train: {pool: trian}\n"), "train.pool");
  EXPECT_EQ(near.what, "there is no pool 'trian'");
  EXPECT_EQ(near.remedy, "did you mean train?");
  EXPECT_EQ(problem_of(read(pools, "placement: {reference: xyzzy}\n"), "placement.reference").remedy,
            "write train or rollout");
  // Without pools there is none to name.
  EXPECT_NE(problem_of(read_example({"rollout.pool=gpu"}), "rollout.pool").remedy.find("name the pools"),
            std::string::npos);
}

TEST(PoolFields, OtherRolesAreWhereTheActorIsUnlessPlaced) {
  std::string const pools = "{rollout: {nodes: 1}, train: {nodes: 1}}";
  ScenarioResult const r = read(pools, kApart, {"algorithm.kl_reference=true"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_EQ(pool_of(r.scenario->job, Role::actor), 1);
  EXPECT_EQ(pool_of(r.scenario->job, Role::reference), 1);
  ScenarioResult const placed =
      read(pools, kApart + "placement: {reference: rollout}\n", {"algorithm.kl_reference=true"});
  ASSERT_TRUE(placed.scenario) << format(placed.problems);
  EXPECT_EQ(pool_of(placed.scenario->job, Role::reference), 0);
  EXPECT_EQ(pool_of(placed.scenario->job, Role::critic), 1);
}

// Both roles are on the first pool where nothing else is said.
TEST(PoolFields, APoolWithoutARoleIsAProblem) {
  ScenarioResult const r = read("{train: {nodes: 1}, rollout: {nodes: 1}}");
  ASSERT_EQ(r.problems.size(), 1u) << format(r.problems);
  EXPECT_EQ(r.problems[0].key, "pools.rollout");
  EXPECT_EQ(r.problems[0].what, "no role runs on this pool");
  EXPECT_EQ(r.problems[0].remedy.find("write rollout: {pool: rollout}"), 0u);
}

TEST(PoolFields, ATrainerAloneKeepsItsStatesOnTheGpu) {
  std::string const pools = "{train: {nodes: 1}, rollout: {nodes: 1}}";
  ScenarioResult const apart = read(pools, kApart);
  ASSERT_TRUE(apart.scenario) << format(apart.problems);
  EXPECT_FALSE(apart.scenario->job.framework.optimizer_offload);
  EXPECT_FALSE(apart.scenario->job.framework.parameters_offload);
  // What the file says stays.
  ScenarioResult const written = read(pools, kApart, {"framework.optimizer_offload=true"});
  ASSERT_TRUE(written.scenario) << format(written.problems);
  EXPECT_TRUE(written.scenario->job.framework.optimizer_offload);
  EXPECT_FALSE(written.scenario->job.framework.parameters_offload);
}

TEST(PoolFields, APresetsOffloadYieldsToEnginesApart) {
  // NeMo-RL's preset offloads both while its colocated engines generate.
  std::vector<std::string> const sets = {"framework=nemo-rl"};
  std::string const pools = "{train: {nodes: 1}, rollout: {nodes: 1}}";
  ScenarioResult const shared =
      read("{train: {nodes: 2}}", "train: {pool: train}\nrollout: {pool: train}\n", sets);
  ASSERT_TRUE(shared.scenario) << format(shared.problems);
  EXPECT_TRUE(shared.scenario->job.framework.optimizer_offload);
  ScenarioResult const apart = read(pools, kApart, sets);
  ASSERT_TRUE(apart.scenario) << format(apart.problems);
  EXPECT_FALSE(apart.scenario->job.framework.optimizer_offload);
  EXPECT_EQ(origin_of(*apart.scenario, "framework.optimizer_offload").value, "false");
}

// 8 of the 72 GPUs are 2 of the 18 trays: 4 NUMA nodes, 8 NICs, 4 storage NICs, a ninth of the drives.
TEST(PoolFields, PartOfARackIsWholeTrays) {
  auto const r = read("{train: {gpus: 64}, rollout: {gpus: 8}}", kApart,
                      {"cluster.nodes=1", "cluster.node=gb200-nvl72", "train.trainer=fsdp2"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  Node const& n = r.scenario->job.pools[1].cluster.node;
  EXPECT_EQ(n.trays, 2);
  EXPECT_EQ(n.numa_nodes, 4);
  EXPECT_EQ(n.nics, 8);
  EXPECT_EQ(n.storage_nics, 4);
  EXPECT_DOUBLE_EQ(n.nvme_read.value, find_node(builtin_catalog(), "gb200-nvl72")->nvme_read.value / 9);
}

}  // namespace
}  // namespace rollcast
