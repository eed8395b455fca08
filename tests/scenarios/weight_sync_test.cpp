// `weight_sync:` of a scenario: what is read, and what cannot be.
#include <gtest/gtest.h>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

std::vector<std::string> apart(std::vector<std::string> sets) {
  std::vector<std::string> all = {"schedule=one_step_off", "pools={train: {nodes: 1}, rollout: {nodes: 1}}",
                                  "train.pool=train", "rollout.pool=rollout", "train.parallel={tp: 1}"};
  all.insert(all.end(), sets.begin(), sets.end());
  return all;
}

// Key and sentence of the only problem.
std::pair<std::string, std::string> problem(std::vector<std::string> sets) {
  ScenarioResult const r = read_example(std::move(sets));
  if (r.problems.size() != 1) {
    ADD_FAILURE() << format(r.problems);
    return {};
  }
  return {r.problems[0].key, r.problems[0].what};
}

TEST(WeightSyncFields, AreRead) {
  auto const r = read_example(apart(
      {"weight_sync={method: buckets, fan_out: chain, bucket: 1 GiB, overlap: false, load_per_tensor: 70 us, "
       "call: 2 ms, flush: 1 ms, setup: 3 s}"}));
  ASSERT_TRUE(r.scenario) << format(r.problems);
  WeightSyncOptions const& o = r.scenario->job.weight_sync;
  EXPECT_EQ(o.method, SyncMethod::buckets);
  EXPECT_EQ(o.fan_out, FanOut::chain);
  EXPECT_DOUBLE_EQ(o.bucket.value, GiB(1).value);
  EXPECT_FALSE(o.overlap);
  ASSERT_TRUE(o.load_per_tensor);
  EXPECT_DOUBLE_EQ(o.load_per_tensor->value, 70e-6);
  EXPECT_DOUBLE_EQ(o.call.value, 2e-3);
  EXPECT_DOUBLE_EQ(o.flush.value, 1e-3);
  EXPECT_DOUBLE_EQ(o.setup.value, 3);
}

TEST(WeightSyncFields, WithoutABlockEveryFrameworkGoesItsOwnWay) {
  auto const r = read_example({});
  ASSERT_TRUE(r.scenario);
  EXPECT_EQ(r.scenario->job.weight_sync.method, SyncMethod::automatic);
  EXPECT_FALSE(r.scenario->job.weight_sync.load_per_tensor);
}

TEST(WeightSyncFields, MethodsThatThePlacementExcludes) {
  EXPECT_EQ(problem(apart({"weight_sync.method=ipc"})),
            std::pair(std::string("weight_sync.method"), std::string("ipc between pools")));
  for (std::string const method : {"tensors", "buckets", "point_to_point"}) {
    EXPECT_EQ(
        problem({"weight_sync.method=" + method}),
        std::pair(std::string("weight_sync.method"), method + " where trainer and engines share their GPUs"));
    EXPECT_TRUE(read_example(apart({"weight_sync.method=" + method})).scenario) << method;
  }
  for (std::string const method : {"ipc", "host_memory", "storage"})
    EXPECT_TRUE(read_example({"weight_sync.method=" + method}).scenario) << method;
}

TEST(WeightSyncFields, AStepWithoutOneHasNoMethod) {
  EXPECT_EQ(
      problem({"weight_sync.method=storage", "framework.order=[generate, score, old_logprob, update_actor]"})
          .second,
      "a step without weight_sync");
}

TEST(WeightSyncFields, OptionsThatTheMethodDoesNotUse) {
  for (auto const& [method, option, key] :
       {std::tuple("point_to_point", "fan_out: tree", "fan_out"),
        std::tuple("storage", "transport: gloo", "transport"),
        std::tuple("buckets", "shares: engines", "shares"), std::tuple("tensors", "bucket: 1 GiB", "bucket"),
        std::tuple("tensors", "storage: 1 GB/s", "storage"),
        std::tuple("host_memory", "call: 1 ms", "call")}) {
    auto const p = problem(apart({std::string("weight_sync={method: ") + method + ", " + option + "}"}));
    EXPECT_EQ(p.first, std::string("weight_sync.") + key);
    EXPECT_EQ(p.second, std::string(method) + " does not use it");
  }
  EXPECT_EQ(problem({"weight_sync.load_per_tensor=1 ms"}).second, "ipc does not use it");
}

TEST(WeightSyncFields, Combinations) {
  EXPECT_EQ(problem(apart({"weight_sync={method: buckets, transport: gloo, fan_out: tree}"})).second,
            "gloo broadcasts by its own tree");
  EXPECT_EQ(problem(apart({"weight_sync.requantize=true"})).first, "weight_sync.requantize");
  EXPECT_TRUE(read_example(apart({"weight_sync.requantize=true", "rollout.weights=fp8"})).scenario);
  EXPECT_EQ(problem({"weight_sync={method: host_memory, shares: engines}"}).second,
            "trainer and engines have the same ranks");
  EXPECT_EQ(problem(apart({"weight_sync.method=point_to_point",
                           "algorithm.adapter={kind: lora, rank: 8, targets: [q, v], sync: adapter}"}))
                .second,
            "an adapter alone, which every rank needs whole");
}

}  // namespace
}  // namespace rollcast
