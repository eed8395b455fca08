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
  // 1e9 parameters: bf16 gradients and weights, 2 GB each way at 0.8 x 64 GB/s; 30 GB at 0.07 x 300 / 4
  // ranks.
  double const copies = 2 * 2e9 / 51.2e9;
  Profile const p = round_profile();
  EXPECT_NEAR(host_optimizer_time(p, node, job.train, 1e9).value, copies + 30e9 / (0.07 * 300e9 / 4), 1e-9);
  node.host_memory_bandwidth = BytesPerSecond(0);
  EXPECT_NEAR(host_optimizer_time(p, node, job.train, 1e9).value, copies, 1e-12);
}

TEST(HostOptimizer, OfDeepSpeedByHand) {
  Job job = llama_job(1);
  job.train.kind = TrainerKind::deepspeed;
  Node node = job.cluster.node;
  node.host_memory_bandwidth = GB_per_s(300);
  node.gpus = 8;
  node.numa_nodes = 2;
  node.gpus_per_pcie_switch = 1;
  Profile const p = round_profile();
  // 1e9 parameters: fp32 gradients and weights, 4 GB each way at 51.2 GB/s, 78 ms (four ranks through 300
  // GB/s of memory: 53 ms); 38 GB at 0.42 x 300 / 4 = 31.5 GB/s.
  double const copy = 4e9 / 51.2e9;
  auto const time = [&] { return host_optimizer_time(p, node, job.train, 1e9).value; };
  EXPECT_NEAR(time(), 2 * copy + 38e9 / 31.5e9, 1e-9);
  // One thread streams 12 GB/s, three would stream more than the rank's share.
  job.train.host_threads = 1;
  EXPECT_NEAR(time(), 2 * copy + 38e9 / 12e9, 1e-9);
  job.train.host_threads = 3;
  EXPECT_NEAR(time(), 2 * copy + 38e9 / 31.5e9, 1e-9);
  // A pageable copy takes 4.5 times as long (models/switching.hpp).
  job.train.pinned_weights = false;
  EXPECT_NEAR(time(), 5.5 * copy + 38e9 / 31.5e9, 1e-9);
  job.train.pinned_gradients = false;
  EXPECT_NEAR(time(), 9 * copy + 38e9 / 31.5e9, 1e-9);
}

TEST(HostOptimizer, SumsGradientsOnTheHost) {
  Job job = llama_job(1);
  job.cluster.node.gpus_per_pcie_switch = 1;
  job.train.offload.optimizer = true;
  Profile const p = round_profile();
  Node const& node = job.cluster.node;
  EXPECT_EQ(host_accumulation_time(p, node, job.train, 1e9).value, 0);  // Megatron's stay on the GPU
  job.train.kind = TrainerKind::deepspeed;
  // 1e9 bf16 gradients to the GPU and back.
  EXPECT_NEAR(host_accumulation_time(p, node, job.train, 1e9).value, 2 * 2e9 / 51.2e9, 1e-9);
  job.train.pinned_gradients = false;
  EXPECT_NEAR(host_accumulation_time(p, node, job.train, 1e9).value, 9 * 2e9 / 51.2e9, 1e-9);
  // Of a rank's shard: 8 ranks under ZeRO-2.
  job.train.zero_stage = 2;
  Stage const whole = pipeline_stages(job.model, 1).front();
  EXPECT_NEAR(accumulation_time(p, job, whole).value,
              host_accumulation_time(p, node, job.train, 8030261248.0 / 8).value, 1e-9);
  job.train.offload.optimizer = false;
  EXPECT_EQ(accumulation_time(p, job, whole).value, 0);
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
