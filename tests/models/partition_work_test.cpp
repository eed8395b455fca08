#include "models/partition_work.hpp"

#include <gtest/gtest.h>

#include "models/stage_prices.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

// 8 data-parallel ranks on one node.
Job deepspeed_job(int stage, char const* model = "llama-3.1-8b") {
  Job job = llama_job(1);
  job.model = catalog_model(model);
  job.train.kind = TrainerKind::deepspeed;
  job.train.zero_stage = stage;
  return job;
}

// A layer of Llama: layer, attention, rotary embedding, MLP, activation, 2 norms and 7 products make 14
// modules; 7 matrices and 2 vectors, 218,112,000 parameters.
TEST(PartitionWork, OfALlamaLayerUnderZero3) {
  PartitionWork const w = partition_work(deepspeed_job(3), 0);
  EXPECT_EQ(w.forward_operations, 4 * 14 + 4 * 7);
  EXPECT_EQ(w.backward_operations, 4 * 14 + 4 * 7 + 7 * 9);
  // bf16: 4 to divide, 6 to add an eighth.
  EXPECT_DOUBLE_EQ(w.reduce_bytes, 218112000.0 * (4 + 6 / 8.0));
}

TEST(PartitionWork, AloneARankGathersNothing) {
  Job job = deepspeed_job(3);
  job.train.shard_ranks = 1;
  PartitionWork const w = partition_work(job, 0);
  EXPECT_EQ(w.forward_operations, 4 * 14 + 2 * 7);
  EXPECT_DOUBLE_EQ(w.reduce_bytes, 218112000.0 * 10);
}

TEST(PartitionWork, OfAMixtureCountsEveryExpert) {
  // Qwen3-30B-A3B: 5 modules, 4 norms, 4 projections, the router; 128 experts of 3 products with activation
  // and module of their own.
  PartitionWork const w = partition_work(deepspeed_job(3, "qwen3-30b-a3b"), 0);
  EXPECT_EQ(w.forward_operations, 4 * (5 + 4 + 4 + 1 + 128 * 5) + 4 * (4 + 1 + 128 * 3));
}

TEST(PartitionWork, OfAnAdapterLeavesTheBaseItsGathersAlone) {
  Job job = deepspeed_job(3);
  job.algorithm.adapter = Adapter{.kind = AdapterKind::lora, .rank = 16, .targets = {"q", "v"}};
  // Two targets: 8 more modules and 4 more matrices, which alone have gradients.
  PartitionWork const w = partition_work(job, 0);
  EXPECT_EQ(w.forward_operations, 4 * 22 + 4 * 11);
  EXPECT_EQ(w.backward_operations, 4 * 22 + 4 * 11 + 7 * 4);
}

TEST(PartitionWork, Zero2CopiesGradientsAndOthersDoNothing) {
  PartitionWork const two = partition_work(deepspeed_job(2), 0);
  EXPECT_EQ(two.forward_operations, 0);
  EXPECT_EQ(two.backward_operations, 12);  // 9 gradients x (1 + 3 / 8)
  EXPECT_EQ(partition_work(deepspeed_job(1), 0).backward_operations, 0);
  Job fsdp = deepspeed_job(3);
  fsdp.train.kind = TrainerKind::fsdp2;
  EXPECT_EQ(partition_work(fsdp, 0).forward_operations, 0);
}

// One token waits for the host: 32 layers' hooks at 20 us each come on top, whatever the kernels.
TEST(PartitionWork, SmallBatchesWaitForTheHooks) {
  Job job = deepspeed_job(0);
  job.train.shard_ranks = 1;
  job.train.kernels = KernelStack::eager;
  Stage const whole = pipeline_stages(job.model, 1).front();
  MicroBatch const one{1, 1, 1};
  StageTimes const without = stage_times(round_profile(), job, whole, one);
  job.train.zero_stage = 3;
  StageTimes const with = stage_times(round_profile(), job, whole, one);
  EXPECT_NEAR((with.forward - without.forward).value, 32 * 70 * 20e-6, 1e-9);
  EXPECT_GT(with.backward - without.backward, Seconds(32 * 70 * 20e-6));
}

}  // namespace
}  // namespace rollcast
