// Options that a run would ignore, and orders that make no step, are refused by name.
#include <gtest/gtest.h>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

std::vector<Problem> refusals(std::vector<std::string> sets) {
  ScenarioResult const r = read_example(std::move(sets));
  if (!r.scenario) {
    ADD_FAILURE() << format(r.problems);
    return {};
  }
  return check_simulated(*r.scenario);
}

TEST(Simulated, TheExampleIs) { EXPECT_TRUE(refusals({}).empty()); }

TEST(Simulated, ParametersInHostMemoryAreNot) {
  auto const problems = refusals({"train.offload.parameters=true"});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "train.offload.parameters");
  EXPECT_EQ(problems[0].what, "training with parameters in host memory is not simulated yet");
  EXPECT_TRUE(refusals({"train.offload.parameters=false"}).empty());
}

TEST(Simulated, StorageIsNot) {
  auto const problems =
      refusals({"cluster.storage_fabric=roce-400g", "cluster.storage={read: 100 GB/s, write: 50 GB/s}"});
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].key, "cluster.storage_fabric");
  EXPECT_EQ(problems[1].key, "cluster.storage");
  EXPECT_EQ(problems[1].what, "a shared file system is not simulated yet");
}

TEST(Simulated, GradientsAndOptimizerInHostMemoryAre) {
  EXPECT_TRUE(refusals({"train.offload.gradients=true", "train.offload.optimizer=true"}).empty());
}

TEST(Simulated, ValidationAndCheckpointsBesideTrainingAreNot) {
  EXPECT_TRUE(refusals({"validation.every=2", "checkpoint.every=2"}).empty());
  auto const problems = refusals({"validation.every=2", "checkpoint.every=2", "schedule=one_step_off",
                                  "pools={train: {nodes: 1}, rollout: {nodes: 1}}", "train.pool=train",
                                  "rollout.pool=rollout", "train.parallel={tp: 1}"});
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].key, "validation.every");
  EXPECT_EQ(problems[1].key, "checkpoint.every");
}

TEST(Simulated, OrdersWithoutAStepAreNot) {
  for (auto const& [order, what] :
       {std::pair("[generate, update_actor, checkpoint]", "checkpoint is not simulated yet"),
        std::pair("[update_actor]", "a step without generate is not simulated yet"),
        std::pair("[generate, old_logprob]", "a step without update_actor is not simulated yet"),
        std::pair("[reference, generate, update_actor]",
                  "training on samples before they are generated is not simulated yet")}) {
    auto const problems = refusals({std::string("framework.order=") + order});
    ASSERT_EQ(problems.size(), 1U) << order;
    EXPECT_EQ(problems[0].key, "framework.order");
    EXPECT_EQ(problems[0].what, what);
  }
  // A framework that wakes and syncs first.
  EXPECT_TRUE(
      refusals({"framework.order=[weight_sync, wake, generate, sleep, old_logprob, update_actor]"}).empty());
}

}  // namespace
}  // namespace rollcast
