#include "models/weight_sync.hpp"

#include <gtest/gtest.h>

#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

constexpr double kWeights = 2 * 8030261248.0;
constexpr double kNvlink = 0.75 * 450e9;
constexpr double kNic = 0.9 * 50e9;

Job with_layout(int nodes, Parallel train) {
  Job job = llama_job(nodes);
  job.train.parallel = train;
  job.framework.sync_per_tensor = us(50);
  return job;
}

WeightSync sync(int nodes, Parallel train) {
  Profile const profile = round_profile();
  Job const job = with_layout(nodes, train);
  CollectivePrices collectives(profile, job.cluster);
  return ipc_weight_sync(profile, collectives, job);
}

double gather(int nodes, Parallel train) { return sync(nodes, train).gather.value; }

TEST(WeightSync, WithoutCutsOnlyCopies) {
  WeightSync const s = sync(2, {});
  EXPECT_DOUBLE_EQ(s.weights.value, kWeights);
  EXPECT_DOUBLE_EQ(s.gather.value, 0);
  // Written once, read once at half of 3.35 TB/s.
  EXPECT_NEAR(s.copy.value, 2 * kWeights / (0.5 * 3.35e12), 1e-9);
  // 32 layers of q, k, v, o, gate, up, down and two norms; embedding, final norm, lm_head.
  EXPECT_DOUBLE_EQ(s.tensors, 32 * 9 + 3);
  EXPECT_NEAR(s.per_tensor.value, 291 * 50e-6, 1e-12);
}

// Two stages on two nodes: each of the eight ranks of a node has its own NIC, and the whole model crosses it,
// half of it out and half of it in, never both at once. Latencies are below 0.1 ms.
TEST(WeightSync, StagesBroadcastOneTensorAtATime) {
  EXPECT_NEAR(gather(2, {.pp = 2}), kWeights / kNic, 1e-4);
  EXPECT_NEAR(gather(1, {.pp = 2}), kWeights / kNvlink, 1e-4);
  // Two of four stages in each node: their rings leave through both ranks' NICs.
  EXPECT_NEAR(gather(2, {.pp = 4}), kWeights / (2 * kNic), 1e-4);
}

// tp 4 gathers three quarters over NVLink; with stages on top each rank broadcasts its quarter.
TEST(WeightSync, TensorParallelRanksGatherTheRest) {
  EXPECT_NEAR(gather(1, {.tp = 4}), 0.75 * kWeights / kNvlink, 1e-4);
  EXPECT_NEAR(gather(2, {.tp = 4, .pp = 2}), kWeights / 4 / kNic + 0.75 * kWeights / kNvlink, 1e-4);
}

}  // namespace
}  // namespace rollcast
