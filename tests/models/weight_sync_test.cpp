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

// Trainer and engines on nodes of their own.
WeightSync broadcast(Parallel train, int engine_nodes, bool same_node = false) {
  Profile const profile = round_profile();
  Job const trainer = with_layout(1, train);
  Job const engines = with_layout(engine_nodes, {});
  CollectivePrices collectives(profile, trainer.cluster);
  return broadcast_weight_sync(profile, collectives, trainer, engines, same_node);
}

// One rank of each node in the ring, so every byte leaves the sender through its one NIC, however many
// receive. Sending hides behind the export of the next tensors: gather and per-tensor cost.
TEST(WeightSync, AnotherPoolGetsEveryTensorOverOneNic) {
  double const tensors = 291 * 50e-6;
  for (int const nodes : {1, 2, 8}) {
    WeightSync const s = broadcast({}, nodes);
    EXPECT_DOUBLE_EQ(s.gather.value, 0);
    EXPECT_NEAR(s.transfer.value, kWeights / kNic - tensors, 2e-4) << nodes;
    EXPECT_NEAR(s.copy.value, 2 * kWeights / (0.5 * 3.35e12), 1e-9);
    EXPECT_NEAR(s.total().value, kWeights / kNic + s.copy.value, 2e-4);
  }
  WeightSync const cut = broadcast({.tp = 4}, 1);
  EXPECT_NEAR(cut.gather.value, 0.75 * kWeights / kNvlink, 1e-4);
  EXPECT_NEAR(cut.total().value, kWeights / kNic + cut.copy.value, 2e-4);
}

TEST(WeightSync, PartsOfOneNodeSendOverNvlink) {
  WeightSync const s = broadcast({}, 1, true);
  EXPECT_NEAR(s.total().value, kWeights / kNvlink + s.copy.value, 2e-4);
  // Gathered from 8 ranks, 7/8 of the bytes, and 291 tensors take longer than the sending.
  WeightSync const slow = broadcast({.tp = 8}, 1, true);
  EXPECT_DOUBLE_EQ(slow.transfer.value, 0);
  EXPECT_NEAR(slow.total().value, 0.875 * kWeights / kNvlink + 291 * 50e-6 + slow.copy.value, 2e-4);
}

// r = 16 on q and v of 32 layers: q [4096, 4096] has 16 x 8192 parameters, v [1024, 4096] 16 x 5120.
TEST(WeightSync, AnAdapterAloneIsItsFactors) {
  Profile const profile = round_profile();
  Job job = with_layout(1, {});
  job.algorithm.adapter = Adapter{.rank = 16, .targets = {"q", "v"}};
  CollectivePrices collectives(profile, job.cluster);
  WeightSync const merged = ipc_weight_sync(profile, collectives, job);
  EXPECT_DOUBLE_EQ(merged.weights.value, kWeights);
  EXPECT_DOUBLE_EQ(merged.tensors, 291);
  job.algorithm.adapter->sync = AdapterSync::adapter;
  WeightSync const alone = ipc_weight_sync(profile, collectives, job);
  EXPECT_DOUBLE_EQ(alone.weights.value, 2.0 * 32 * 16 * (8192 + 5120));
  EXPECT_DOUBLE_EQ(alone.tensors, 32 * 2 * 2);
  EXPECT_NEAR(alone.per_tensor.value, 128 * 50e-6, 1e-12);
  WeightSync const sent = broadcast_weight_sync(profile, collectives, job, job, false);
  EXPECT_DOUBLE_EQ(sent.weights.value, alone.weights.value);
}

}  // namespace
}  // namespace rollcast
