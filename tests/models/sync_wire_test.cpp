#include "models/sync_wire.hpp"

#include <gtest/gtest.h>

#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

constexpr Bytes kModel = GB(141);  // a 70B model in bf16

// Links of 50 GB/s; a message's latency is below 30 us.
Profile line_rate() {
  Profile p = round_profile();
  p.network = {1, "test"};
  return p;
}

Job of_nodes(int nodes, int engine_tp = 8) {
  Job job = llama_job(nodes);
  job.rollout.parallel.tp = engine_tp;
  return job;
}

double point_to_point(int trainer_nodes, int engine_nodes, int tp = 8, bool same_node = false) {
  Profile const profile = line_rate();
  Job const trainer = of_nodes(trainer_nodes);
  CollectivePrices collectives(profile, trainer.cluster);
  return point_to_point_wire(collectives, trainer, of_nodes(engine_nodes, tp), same_node, kModel)
      .time()
      .value;
}

double fan_out(FanOut f, int engines, double units) {
  Profile const profile = line_rate();
  CollectivePrices collectives(profile, h100_cluster(1));
  return fan_out_wire(collectives, f, Group{1 + engines, 1 + engines, 1}, engines, kModel, units)
      .time()
      .value;
}

// 141 / 8 GB for each rank at 50 GB/s: 0.3525 s, and as much from each of the trainer's ranks.
TEST(SyncWire, EveryRankOfAnEngineReceivesItsEighth) {
  EXPECT_NEAR(point_to_point(1, 1), 0.3525, 1e-4);
  // Eight engines from eight nodes: each of 64 ranks sends an eighth of the model as well.
  EXPECT_NEAR(point_to_point(8, 8), 0.3525, 1e-4);
  // From one node: its eight NICs send eight models, 8 x 141 / 8 / 50.
  EXPECT_NEAR(point_to_point(1, 8), 2.82, 1e-4);
  // The engines' side tells where the trainer has many: tp 4 receives a quarter.
  EXPECT_NEAR(point_to_point(8, 1, 4), 0.705, 1e-4);
}

// 0.75 x 450 GB/s of NVLink; eight receive an eighth each, eight send it.
TEST(SyncWire, PartsOfOneNodeGoOverNvlink) {
  EXPECT_NEAR(point_to_point(1, 1, 8, true), 141.0 / 8 / 337.5, 1e-4);
}

TEST(SyncWire, OneEngineAfterAnotherGrowsWithTheirNumber) {
  for (int const engines : {1, 8, 64}) EXPECT_NEAR(fan_out(FanOut::serial, engines, 1), 2.82 * engines, 2e-3);
}

// Those that have the model double: 1, 2, 4, ... of 1 + engines.
TEST(SyncWire, ATreeGrowsWithTheLogarithm) {
  EXPECT_NEAR(fan_out(FanOut::tree, 1, 1), 2.82, 1e-3);
  EXPECT_NEAR(fan_out(FanOut::tree, 3, 1), 2 * 2.82, 1e-3);
  EXPECT_NEAR(fan_out(FanOut::tree, 7, 1), 3 * 2.82, 1e-3);
  EXPECT_NEAR(fan_out(FanOut::tree, 63, 1), 6 * 2.82, 1e-3);
  EXPECT_NEAR(fan_out(FanOut::tree, 64, 1), 7 * 2.82, 1e-3);
}

// 263 buckets: the last one leaves after 2.82 s and is handed on 63 times: (263 + 63) / 263.
TEST(SyncWire, AChainOfManyMessagesIsNearlyConstant) {
  EXPECT_NEAR(fan_out(FanOut::chain, 1, 263), 2.82, 0.01);
  EXPECT_NEAR(fan_out(FanOut::chain, 64, 263), 2.82 * 326 / 263, 0.01);
  EXPECT_LT(fan_out(FanOut::chain, 64, 2630), 1.05 * fan_out(FanOut::chain, 1, 2630));
  // One message is handed on as a whole.
  EXPECT_NEAR(fan_out(FanOut::chain, 64, 1), 64 * 2.82, 1e-2);
}

TEST(SyncWire, ARingOfOneSenderIsConstant) {
  EXPECT_NEAR(fan_out(FanOut::ring, 1, 1), 2.82, 1e-3);
  EXPECT_NEAR(fan_out(FanOut::ring, 64, 1), 2.82, 1e-3);
}

TEST(SyncWire, NoFanOutBeatsTheWire) {
  for (FanOut const f : {FanOut::ring, FanOut::serial, FanOut::tree, FanOut::chain}) {
    for (int const engines : {1, 2, 5, 64}) {
      for (double const units : {1.0, 10.0, 723.0}) EXPECT_GE(fan_out(f, engines, units), 2.82);
    }
  }
}

TEST(SyncWire, BytesOverBandwidthAndLatencyAreTheTime) {
  Profile const profile = line_rate();
  CollectivePrices collectives(profile, h100_cluster(1));
  SyncWire const w = fan_out_wire(collectives, FanOut::serial, Group{9, 9, 1}, 8, kModel, 100);
  EXPECT_DOUBLE_EQ(w.bytes.value, 8 * kModel.value);
  EXPECT_DOUBLE_EQ(w.bandwidth.value, 50e9);
  EXPECT_DOUBLE_EQ(w.time().value, w.latency.value + 8 * 2.82);
}

}  // namespace
}  // namespace rollcast
