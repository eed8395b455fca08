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
  job.train.kind = TrainerKind::deepspeed;
  EXPECT_NEAR(host_optimizer_time(p, node, job.train, 1e9).value, copies + 30e9 / (0.42 * 300e9 / 4), 1e-9);
  node.host_memory_bandwidth = BytesPerSecond(0);
  EXPECT_NEAR(host_optimizer_time(p, node, job.train, 1e9).value, copies, 1e-12);
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
