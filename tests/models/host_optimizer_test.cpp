#include "models/host_optimizer.hpp"

#include <gtest/gtest.h>

#include "models/gradient_buckets.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

TEST(HostOptimizer, ByHand) {
  Job job = llama_job(1);
  Node node = job.cluster.node;
  node.host_memory_bandwidth = GB_per_s(300);
  node.gpus = 8;
  node.numa_nodes = 2;
  node.gpus_per_pcie_switch = 1;
  // 1e9 parameters: bf16 gradients and weights, 2 GB each way at 0.8 x 64 GB/s; 30 GB at 0.07 x 300 / 4
  // ranks.
  double const copies = 2 * 2e9 / 51.2e9;
  Profile const p = round_profile();
  EXPECT_NEAR(host_optimizer_time(p, node, job.train, 1e9).value, copies + 30e9 / (0.07 * 300e9 / 4), 1e-9);
  node.host_memory_bandwidth = BytesPerSecond(0);
  EXPECT_NEAR(host_optimizer_time(p, node, job.train, 1e9).value, copies, 1e-12);
}

// The gradients have come before; the weights go back in fp32, 78 ms.
TEST(HostOptimizer, OfDeepSpeedByHand) {
  Job job = llama_job(1);
  job.train.kind = TrainerKind::deepspeed;
  Node node = job.cluster.node;
  node.host_memory_bandwidth = GB_per_s(300);
  node.gpus = 8;
  node.numa_nodes = 2;
  node.gpus_per_pcie_switch = 1;
  Profile const p = round_profile();
  double const copy = 4e9 / 51.2e9;
  double const adam = 30e9 / (0.42 * 300e9 / 4);   // 31.5 GB/s
  double const scaling = 8e9 / (0.2 * 300e9 / 4);  // 15 GB/s
  double const check = 12e9 / (0.2 * 300e9 / 4);
  auto const time = [&] { return host_optimizer_time(p, node, job.train, 1e9).value; };
  EXPECT_NEAR(time(), copy + scaling + adam, 1e-9);
  // One thread streams 12 GB/s; three would stream more than the rank's share.
  job.train.host_threads = 1;
  EXPECT_NEAR(time(), copy + 38e9 / 12e9, 1e-9);
  job.train.host_threads = 3;
  EXPECT_NEAR(time(), copy + scaling + adam, 1e-9);
  // A pageable copy takes 4.5 times as long (models/switching.hpp).
  job.train.pinned_weights = false;
  EXPECT_NEAR(time(), 4.5 * copy + scaling + adam, 1e-9);
  job.train.zero_stage = 3;
  EXPECT_NEAR(time(), 4.5 * copy + scaling + check + adam, 1e-9);
  node.host_memory_bandwidth = BytesPerSecond(0);
  EXPECT_NEAR(time(), 4.5 * copy, 1e-12);
}

// 1e9 parameters on each of 8 ranks, two micro-batches, bf16 gradients; PCIe gives 51.2 GB/s.
class HostGradients : public testing::Test {
 protected:
  HostGradients() {
    node_.host_memory_bandwidth = GB_per_s(300);
    node_.gpus = 8;
    node_.numa_nodes = 2;
    node_.gpus_per_pcie_switch = 1;
    train_.pinned_gradients = false;
    train_.kind = TrainerKind::deepspeed;
    train_.offload.optimizer = true;
    train_.bucket = Bytes(1e9);
  }
  double time(int stage, int micro_batches = 2) {
    train_.zero_stage = stage;
    return host_gradient_time(round_profile(), node_, train_, 1e9, 8, micro_batches).value;
  }

  Node node_ = h100_cluster(1).node;
  TrainerOptions train_;
};

TEST_F(HostGradients, RanksOfZero2CopyInTurn) {
  // 4 + 2 B down and 2 B up, 8 ranks, pageable: 4.5 times a pinned copy.
  EXPECT_NEAR(time(2), 8 * 4.5 * 8e9 / 51.2e9, 1e-9);
  EXPECT_NEAR(time(2, 1), 8 * 4.5 * 4e9 / 51.2e9, 1e-9);  // the sum alone
  EXPECT_NEAR(time(1), 8 * 4.5 * 4e9 / 51.2e9, 1e-9);
  // All gradients in four buckets: twos of ranks copy together.
  train_.bucket = Bytes(4e9);
  EXPECT_NEAR(time(2), 4 * 4.5 * 8e9 / 51.2e9, 1e-9);
}

TEST_F(HostGradients, RanksOfZero3CopyTogetherThroughTheirMemory) {
  // 8 B down, 4 B up; of 150 GB/s for the 4 ranks of a NUMA node each has 37.5.
  EXPECT_NEAR(time(3), 4.5 * 12e9 / 51.2e9, 1e-9);
  node_.host_memory_bandwidth = GB_per_s(150);
  EXPECT_NEAR(time(3), 4.5 * 12e9 / 37.5e9, 1e-9);
}

TEST_F(HostGradients, PinnedCopiesHideBehindAnOverlappedBackward) {
  train_.pinned_gradients = true;
  EXPECT_DOUBLE_EQ(time(2), 0);
  EXPECT_DOUBLE_EQ(time(3), 0);
  train_.overlap_gradient_reduce = false;
  EXPECT_NEAR(time(2), 8 * 8e9 / 51.2e9, 1e-9);
  EXPECT_DOUBLE_EQ(time(3), 0);
}

TEST_F(HostGradients, NoneOnTheGpuAndForOthers) {
  train_.offload.optimizer = false;
  EXPECT_DOUBLE_EQ(time(2), 0);
  train_.offload.optimizer = true;
  train_.kind = TrainerKind::fsdp2;
  EXPECT_DOUBLE_EQ(time(3), 0);
}

// 20 GB of states and room for 4 GB: 16 GB in and 16 GB out at 51.2 GB/s; with room for all nothing.
TEST(HostOptimizer, PagesWithoutRoom) {
  Profile const p = round_profile();
  EXPECT_NEAR(paging_time(p, GB(20), GB(4)).value, 2 * 16e9 / 51.2e9, 1e-9);
  EXPECT_DOUBLE_EQ(paging_time(p, GB(20), GB(20)).value, 0);
  EXPECT_DOUBLE_EQ(paging_time(p, GB(20), GB(-5)).value, paging_time(p, GB(20), GB(0)).value);
}

TEST(HostOptimizer, IsTheOptimizerStepOfAnOffloadedOne) {
  Job job = llama_job(1);
  Profile const p = round_profile();
  Stage const whole = pipeline_stages(job.model, 1).front();
  job.train.distributed_optimizer = true;
  Seconds const on_gpu = optimizer_time(p, job, whole);
  job.train.offload.optimizer = true;
  Seconds const on_host = optimizer_time(p, job, whole);
  EXPECT_DOUBLE_EQ(on_host.value,
                   host_optimizer_time(p, job.cluster.node, job.train, 8030261248.0 / 8).value);
  EXPECT_GT(on_host, on_gpu);
}

}  // namespace
}  // namespace rollcast
