#include "models/gradient_accumulation.hpp"

#include <gtest/gtest.h>

#include "price_fixtures.hpp"

namespace rollcast {
namespace {

TEST(GradientAccumulation, FusedOnlyWhereTheExtensionIsThere) {
  Job job = llama_job(1);
  job.train.kind = TrainerKind::megatron;
  job.framework.kind = FrameworkKind::slime;
  EXPECT_TRUE(fuses_accumulation(job));
  job.train.gradients = DType::fp32;
  EXPECT_DOUBLE_EQ(accumulation_bytes(job), 4 + 4 - 2);
  job.train.gradients = DType::bf16;
  EXPECT_DOUBLE_EQ(accumulation_bytes(job), 2 + 2 - 2);
  for (FrameworkKind const f : {FrameworkKind::nemo_rl, FrameworkKind::verl}) {
    job.framework.kind = f;
    EXPECT_FALSE(fuses_accumulation(job));
    EXPECT_DOUBLE_EQ(accumulation_bytes(job), 2 + 2 + 2);
  }
  job.train.gradients = DType::fp32;
  EXPECT_DOUBLE_EQ(accumulation_bytes(job), 2 + 4 + 4);
  job.framework.kind = FrameworkKind::slime;
  job.train.kind = TrainerKind::fsdp2;
  EXPECT_FALSE(fuses_accumulation(job));
}

TEST(GradientAccumulation, Zero3AddsToTheShardLater) {
  Job job = llama_job(1);
  job.train.kind = TrainerKind::deepspeed;
  job.train.zero_stage = 2;
  EXPECT_DOUBLE_EQ(accumulation_bytes(job), 2 + 2 + 2);
  job.train.zero_stage = 3;
  EXPECT_DOUBLE_EQ(accumulation_bytes(job), 0);
}

}  // namespace
}  // namespace rollcast
