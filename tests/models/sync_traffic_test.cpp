#include "models/sync_traffic.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/models/ledger_jobs.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

// Llama-3.1-8B on two nodes of 8, pp 2, an engine on every GPU. A layer has 218,112,000 parameters
// (41,943,040 of attention, 176,160,768 of the MLP, 8,192 of norms), embedding and head 525,336,576 each, the
// final norm 4,096. Stage 0, on node 0: 16 layers and the embedding; stage 1, on node 1: the rest.
constexpr std::int64_t kStage0 = 2 * (16LL * 218'112'000 + 525'336'576);
constexpr std::int64_t kStage1 = 2 * (16LL * 218'112'000 + 525'336'576 + 4096);

TEST(SyncTraffic, HalfOfTheModelComesFromTheOtherNode) {
  SyncTraffic const t = sync_traffic(reshard_of(test::colocated_grpo(), {}));
  EXPECT_EQ(t.tensors, 291);
  EXPECT_EQ(t.whole_bytes, kStage0 + kStage1);
  for (std::size_t rank = 0; rank < 16; ++rank) {
    bool const first = rank < 8;
    EXPECT_EQ(t.received[rank].at(SyncLink::same_gpu), first ? kStage0 : kStage1);
    EXPECT_EQ(t.received[rank].at(SyncLink::network), first ? kStage1 : kStage0);
    EXPECT_EQ(t.received[rank].at(SyncLink::node), 0);
    // Eight copies of a stage, eight engines that ask for it: one each.
    EXPECT_EQ(t.sent[rank].at(SyncLink::network), first ? kStage0 : kStage1);
  }
  EXPECT_EQ(t.total.total(), 16 * (kStage0 + kStage1));
  EXPECT_EQ(t.node_pairs,
            (std::map<std::pair<int, int>, std::int64_t>{{{0, 1}, 8 * kStage0}, {{1, 0}, 8 * kStage1}}));
}

// A GPU has one NIC of 50 GB/s, 0.9 of it used; its own copy is read and written at half of 3.35 TB/s.
TEST(SyncTraffic, TheBusiestLinkNeedsItsBytesOverItsBandwidth) {
  Job const job = test::colocated_grpo();
  ClusterSpec const cluster = h100_cluster(2);
  Profile const profile = round_profile();
  std::vector<WireNeed> const needs =
      wire_needs(sync_traffic(reshard_of(job, {})), {cluster, profile}, {cluster, profile});
  ASSERT_EQ(needs.size(), 2U);
  EXPECT_EQ(needs[0].link, SyncLink::same_gpu);
  EXPECT_NEAR(needs[0].time.value, 2 * static_cast<double>(kStage1) / (0.5 * 3.35e12), 1e-9);
  EXPECT_EQ(needs[0].busiest, "train rank 8 sends");
  EXPECT_EQ(needs[1].link, SyncLink::network);
  EXPECT_NEAR(needs[1].time.value, static_cast<double>(kStage1) / 45e9, 1e-9);
}

// One engine of one rank on a node of its own: it takes 16 GB through one NIC, while each of the 8 trainer
// ranks sends an eighth.
TEST(SyncTraffic, OneReceiverIsTheNarrowPlace) {
  Job job = test::plain_job(test::model("llama-3.1-8b-instruct"), AlgorithmKind::grpo, 8);
  job.train.kind = TrainerKind::fsdp2;
  ClusterSpec one = job.cluster;
  one.node.gpus = 1;
  one.node.nics = 1;
  job.pools = {{"train", job.cluster, false}, {"rollout", one, false}};
  job.role_pools.rollout = 1;
  SyncTraffic const t = sync_traffic(reshard_of(job, {}));
  for (LinkBytes const& sent : t.sent) EXPECT_EQ(sent.total(), (kStage0 + kStage1) / 8);
  Profile const profile = round_profile();
  ClusterSpec const train = h100_cluster(1);
  one.fabric = train.fabric;
  std::vector<WireNeed> const needs = wire_needs(t, {train, profile}, {one, profile});
  ASSERT_EQ(needs.size(), 1U);
  EXPECT_EQ(needs[0].busiest, "rollout rank 0 receives");
  EXPECT_NEAR(needs[0].time.value, static_cast<double>(kStage0 + kStage1) / 45e9, 1e-9);
}

// fp8 by blocks: the 218,103,808 weights of a layer's products take one byte each and a scale of 4 B per
// 16,384; norms, embedding and head two bytes.
TEST(SyncTraffic, Fp8HasScalesAndKeepsTheRestInBf16) {
  Job job = test::colocated_grpo();
  job.rollout.weights = DType::fp8;
  SyncTraffic const t = sync_traffic(reshard_of(job, {}));
  std::int64_t const scales = 32LL * 218'103'808 / 16'384 * 4;
  EXPECT_EQ(t.whole_bytes, 32LL * 218'103'808 + scales + 2 * (32LL * 8192 + 2 * 525'336'576LL + 4096));
  EXPECT_EQ(t.scale_bytes, 16 * scales);
  EXPECT_EQ(t.blocks, scales / 4);
  EXPECT_EQ(t.blocks_cut_by_trainer, 0);
  EXPECT_EQ(t.blocks_cut_by_engines, 0);
  SyncTraffic const per_tensor = sync_traffic(reshard_of(job, {.scaling = Fp8Scaling::tensor}));
  EXPECT_EQ(per_tensor.scale_bytes, 16 * 32 * 7 * 4);
}

// Experts 768 wide on tp 4: boundaries at rows 192 and 576 lie within blocks, 384 does not. 2 rows of 16
// blocks of gate, of up, and as many columns of down: 96 for each of 128 experts in 48 layers.
TEST(SyncTraffic, ExpertsCutWithinABlock) {
  Job job = test::plain_job(test::model("qwen3-30b-a3b"), AlgorithmKind::grpo, 4);
  job.train.kind = TrainerKind::megatron;
  job.rollout.weights = DType::fp8;
  job.rollout.parallel.tp = 4;
  SyncTraffic const t = sync_traffic(reshard_of(job, {}));
  EXPECT_EQ(t.blocks_cut_by_engines, 96LL * 128 * 48);
  EXPECT_EQ(t.blocks_cut_by_trainer, 0);
  job.rollout.parallel.ep = 4;
  EXPECT_EQ(sync_traffic(reshard_of(job, {})).blocks_cut_by_engines, 0);
}

}  // namespace
}  // namespace rollcast
