#include "models/weight_sync.hpp"

#include <gtest/gtest.h>

#include "models/weight_loading.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

constexpr double kWeights = 2 * 8030261248.0;
constexpr double kNvlink = 0.75 * 450e9;
constexpr double kNic = 0.9 * 50e9;
constexpr double kCopy = 2 * kWeights / (0.5 * 3.35e12);  // written once, read once at half of 3.35 TB/s
constexpr double kTensors = 291;

Job with_layout(int nodes, Parallel train) {
  Job job = llama_job(nodes);
  job.train.parallel = train;
  job.framework.sync_per_tensor = us(50);
  return job;
}

WeightSync sync_of(Job const& trainer, Job const& engines, SyncDistance distance) {
  Profile const profile = round_profile();
  CollectivePrices from(profile, trainer.cluster);
  CollectivePrices to(profile, engines.cluster);
  return weight_sync({trainer, profile, from}, {engines, profile, to}, distance);
}

WeightSync sync(int nodes, Parallel train) {
  Job const job = with_layout(nodes, train);
  return sync_of(job, job, SyncDistance::shared_gpus);
}

double gather(int nodes, Parallel train) { return sync(nodes, train).of(SyncCause::gather).value; }

TEST(WeightSync, WithoutCutsOnlyCopies) {
  WeightSync const s = sync(2, {});
  EXPECT_DOUBLE_EQ(s.weights.value, kWeights);
  EXPECT_DOUBLE_EQ(s.of(SyncCause::gather).value, 0);
  EXPECT_NEAR(s.of(SyncCause::copy).value, kCopy, 1e-9);
  // 32 layers of q, k, v, o, gate, up, down and two norms; embedding, final norm, lm_head.
  EXPECT_DOUBLE_EQ(s.tensors, 32 * 9 + 3);
  EXPECT_NEAR(s.of(SyncCause::per_tensor).value, 291 * 50e-6, 1e-12);
  EXPECT_NEAR(s.total().value, kCopy + 291 * 50e-6, 1e-9);
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
WeightSync apart(WeightSyncOptions const& options, int engine_nodes = 1, Parallel train = {},
                 SyncDistance distance = SyncDistance::apart) {
  Job trainer = with_layout(1, train);
  trainer.weight_sync = options;
  Job engines = trainer;
  engines.cluster = h100_cluster(engine_nodes);
  return sync_of(trainer, engines, distance);
}

// One rank of each node in the ring, so every byte leaves the sender through its one NIC, however many
// receive. Sending hides the export of the next tensors: gather and per-tensor cost.
TEST(WeightSync, AnotherPoolGetsBucketsOverOneNic) {
  for (int const nodes : {1, 2, 8}) {
    WeightSync const s = apart({}, nodes);
    EXPECT_NEAR(s.wire.time().value, kWeights / kNic, 2e-4) << nodes;
    EXPECT_NEAR(s.total().value, kWeights / kNic + kCopy, 2e-4);
  }
  WeightSync const cut = apart({}, 1, {.tp = 4});
  EXPECT_NEAR(cut.of(SyncCause::gather).value, 0.75 * kWeights / kNvlink, 1e-4);
  EXPECT_NEAR(cut.total().value, kWeights / kNic + kCopy, 2e-4);
}

TEST(WeightSync, PartsOfOneNodeSendOverNvlink) {
  EXPECT_NEAR(apart({}, 1, {}, SyncDistance::one_node).total().value, kWeights / kNvlink + kCopy, 2e-4);
  // Gathered from 8 ranks, 7/8 of the bytes, and 291 tensors take longer than the sending.
  WeightSync const slow = apart({}, 1, {.tp = 8}, SyncDistance::one_node);
  EXPECT_NEAR(slow.total().value, 0.875 * kWeights / kNvlink + 291 * 50e-6 + kCopy, 2e-4);
}

TEST(WeightSync, WithoutOverlapThePartsAddUp) {
  WeightSync const s = apart({.overlap = false}, 1, {.tp = 4});
  double const sum = 0.75 * kWeights / kNvlink + 291 * 50e-6 + kWeights / kNic + kCopy;
  EXPECT_NEAR(s.total().value, sum, 2e-4);
}

// r = 16 on q and v of 32 layers: q [4096, 4096] has 16 x 8192 parameters, v [1024, 4096] 16 x 5120.
TEST(WeightSync, AnAdapterAloneIsItsFactors) {
  Job job = with_layout(1, {});
  job.algorithm.adapter = Adapter{.rank = 16, .targets = {"q", "v"}};
  WeightSync const merged = sync_of(job, job, SyncDistance::shared_gpus);
  EXPECT_DOUBLE_EQ(merged.weights.value, kWeights);
  EXPECT_DOUBLE_EQ(merged.tensors, 291);
  job.algorithm.adapter->sync = AdapterSync::adapter;
  WeightSync const alone = sync_of(job, job, SyncDistance::shared_gpus);
  EXPECT_DOUBLE_EQ(alone.weights.value, 2.0 * 32 * 16 * (8192 + 5120));
  EXPECT_DOUBLE_EQ(alone.tensors, 32 * 2 * 2);
  EXPECT_NEAR(alone.of(SyncCause::per_tensor).value, 128 * 50e-6, 1e-12);
  EXPECT_DOUBLE_EQ(sync_of(job, job, SyncDistance::apart).weights.value, alone.weights.value);
}

// Three of them are three times the bytes and tensors.
TEST(WeightSync, SeveralAdaptersTravelTogether) {
  Job job = with_layout(1, {});
  job.algorithm.adapter = Adapter{.rank = 16, .targets = {"q", "v"}, .sync = AdapterSync::adapter};
  job.algorithm.adapter->count = 3;
  WeightSync const s = sync_of(job, job, SyncDistance::apart);
  EXPECT_DOUBLE_EQ(s.weights.value, 3 * 2.0 * 32 * 16 * (8192 + 5120));
  EXPECT_DOUBLE_EQ(s.tensors, 3 * 32 * 2 * 2);
}

// A call for each tensor walks over the model each time; 30 buckets of 512 MiB do it 30 times.
TEST(WeightSync, ACallForEachTensorWalksTensorsTimesLayers) {
  double const walk = load_walk(catalog_model("llama-3.1-8b")).value;
  WeightSync const tensors = apart({.method = SyncMethod::tensors, .load_per_tensor = us(70)});
  EXPECT_NEAR(tensors.of(SyncCause::load).value, kTensors * (70e-6 + walk), 1e-9);
  WeightSync const buckets = apart({.load_per_tensor = us(70)});
  EXPECT_NEAR(buckets.of(SyncCause::load).value, kTensors * 70e-6 + 30 * walk, 1e-9);
}

// Of many layers and small messages the loader is the slowest part, and hides the others.
TEST(WeightSync, TheSlowestPartTells) {
  WeightSync const s = apart({.method = SyncMethod::tensors, .load_per_tensor = ms(10)});
  EXPECT_DOUBLE_EQ(s.total().value, s.of(SyncCause::load).value);
  EXPECT_GT(s.wire.time().value, kWeights / kNic);
}

// One call to each of 16 engines for each tensor, and 5 ms for emptying caches; in turn all of it counts.
TEST(WeightSync, CallsGrowWithTensorsAndEngines) {
  WeightSync const s =
      apart({.method = SyncMethod::tensors, .overlap = false, .call = ms(1), .flush = ms(5)}, 2);
  EXPECT_NEAR(s.of(SyncCause::calls).value, kTensors * 16 * 1e-3, 1e-9);
  EXPECT_NEAR(s.of(SyncCause::caches).value, kTensors * 5e-3, 1e-9);
  Seconds sum;
  for (SyncCause c : {SyncCause::gather, SyncCause::per_tensor, SyncCause::calls, SyncCause::wire,
                      SyncCause::caches, SyncCause::copy})
    sum += s.of(c);
  EXPECT_NEAR(s.total().value, sum.value, 1e-9);
}

// 16.06 GB at 2.92 GB/s are 5.5 s, of which the NIC's own time is the wire.
TEST(WeightSync, GlooGoesThroughTheHost) {
  WeightSync const s = apart({.transport = SyncTransport::gloo});
  EXPECT_NEAR((s.of(SyncCause::wire) + s.of(SyncCause::tcp)).value, kWeights / (16.06e9 / 5.5), 1e-6);
}

// Eight ranks of an engine get an eighth each over their own NICs, and copy as much; nothing is gathered.
TEST(WeightSync, PointToPointSendsParts) {
  Job trainer = with_layout(1, {.tp = 8});
  trainer.weight_sync.method = SyncMethod::point_to_point;
  trainer.rollout.parallel.tp = 8;
  WeightSync const s = sync_of(trainer, trainer, SyncDistance::apart);
  EXPECT_DOUBLE_EQ(s.of(SyncCause::gather).value, 0);
  EXPECT_NEAR(s.wire.time().value, kWeights / 8 / kNic, 1e-4);
  EXPECT_NEAR(s.total().value, kWeights / 8 / kNic + kCopy / 8, 1e-4);
}

// Each of 8 engine ranks brings 2.0 GB over PCIe: 0.8 x 64 GB/s, shared by as many GPUs as a switch has.
// Then the broadcasts within the node, beside the loading.
TEST(WeightSync, SharesComeFromHostMemoryAtTheSameTime) {
  WeightSyncOptions o{.method = SyncMethod::host_memory,
                      .shares = HostShares::engines,
                      .load_per_tensor = us(70),
                      .setup = seconds(2)};
  WeightSync const s = apart(o);
  int const sharers = h100_cluster(1).node.gpus_per_pcie_switch;
  double const host = kWeights / 8 * sharers / (0.8 * 64e9);
  EXPECT_NEAR(s.of(SyncCause::from_host).value, host, 1e-9);
  EXPECT_NEAR(s.wire.time().value, kWeights / kNvlink, 1e-2);
  EXPECT_DOUBLE_EQ(s.of(SyncCause::gather).value, 0);
  double const load = s.of(SyncCause::load).value;
  EXPECT_NEAR(s.total().value, 2 + host + std::max(load, s.wire.time().value), 1e-9);
  o.overlap = false;
  EXPECT_NEAR(apart(o).total().value, 2 + host + load + s.wire.time().value + kCopy, 1e-9);
}

// The trainer's ranks first gather, export and copy out, which hides behind the export; the host packs.
TEST(WeightSync, SharesOfTheTrainerAreCopiedOutFirst) {
  WeightSync const s =
      apart({.method = SyncMethod::host_memory, .overlap = false, .load_per_tensor = us(70)}, 1, {.tp = 8});
  EXPECT_NEAR(s.of(SyncCause::gather).value, 0.875 * kWeights / kNvlink, 1e-4);
  EXPECT_GT(s.of(SyncCause::to_host).value, s.of(SyncCause::from_host).value);
  Seconds rest = s.total();
  for (SyncCause c : {SyncCause::from_host, SyncCause::wire, SyncCause::load, SyncCause::copy})
    rest -= s.of(c);
  EXPECT_GE(rest.value, s.of(SyncCause::from_host).value);
  EXPECT_LE(rest.value,
            (s.of(SyncCause::gather) + s.of(SyncCause::per_tensor) + s.of(SyncCause::to_host)).value);
}

// Over the NICs of 45 GB/s instead of PCIe.
TEST(WeightSync, SharesOnOtherNodesAreReadOverTheNics) {
  WeightSync const s = apart({.method = SyncMethod::host_memory, .shares = HostShares::elsewhere});
  EXPECT_NEAR(s.of(SyncCause::from_host).value, kWeights / 8 / kNic, 1e-4);
}

// Written by one node and read by every node, both at 1 GB/s.
TEST(WeightSync, StorageIsWrittenAndRead) {
  WeightSync const s = apart({.method = SyncMethod::storage, .storage = GB_per_s(1)}, 4);
  EXPECT_NEAR(s.of(SyncCause::to_storage).value, kWeights / 1e9, 1e-9);
  EXPECT_NEAR(s.wire.time().value, kWeights / 1e9, 1e-9);
  EXPECT_NEAR(s.total().value, 2 * kWeights / 1e9 + 291 * 50e-6 + kCopy, 1e-6);
}

// bf16 on the way, fp8 in the engine: twice the bytes of sending fp8, and 4.5 passes instead of 2.
TEST(WeightSync, AnEngineThatQuantizesGetsTheTrainersType) {
  Job job = with_layout(1, {});
  job.rollout.weights = DType::fp8;
  WeightSync const small = sync_of(job, job, SyncDistance::apart);
  EXPECT_DOUBLE_EQ(small.weights.value, kWeights / 2);
  job.weight_sync.requantize = true;
  WeightSync const large = sync_of(job, job, SyncDistance::apart);
  EXPECT_DOUBLE_EQ(large.weights.value, kWeights);
  EXPECT_NEAR(large.of(SyncCause::copy).value, 2.25 * kCopy, 1e-9);
}

// More nodes, engines or tensors never make a sync shorter, and overlap never makes it longer.
TEST(WeightSync, OverlapNeverCosts) {
  for (SyncMethod const m : {SyncMethod::tensors, SyncMethod::buckets, SyncMethod::point_to_point,
                             SyncMethod::host_memory, SyncMethod::storage}) {
    for (int const nodes : {1, 4}) {
      WeightSyncOptions o{.method = m, .load_per_tensor = us(70), .call = us(100)};
      Seconds const beside = apart(o, nodes).total();
      o.overlap = false;
      Seconds const in_turn = apart(o, nodes).total();
      EXPECT_LE(beside.value, in_turn.value) << name_of(m);
      EXPECT_GE(beside.value, apart(o, nodes).wire.time().value) << name_of(m);
    }
  }
}

}  // namespace
}  // namespace rollcast
