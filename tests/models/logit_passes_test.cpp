#include "models/logit_passes.hpp"

#include <gtest/gtest.h>

#include "price_fixtures.hpp"

namespace rollcast {
namespace {

TEST(LogitPasses, ByStackAndLoss) {
  Job job = llama_job(1);
  job.framework.kind = FrameworkKind::none;
  MicroBatch const m{4096, 4096, 4096.0 * 4097 / 2};
  job.algorithm.kind = AlgorithmKind::sft;
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).forward, 42);
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).backward, 18);
  job.train.kernels = KernelStack::eager;
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).forward, 30);
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).backward, 38);
  job.train.shifted_labels = true;
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).forward, 22);
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).backward, 26);
  job.train.shifted_labels = false;
  job.train.kernels = KernelStack::compiled;  // its loss is compiled too where it goes by chunks
  job.train.cross_entropy = CrossEntropy::chunked;
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).backward, 4);
  job.train.cross_entropy = CrossEntropy::whole;
  job.train.kernels = KernelStack::eager;
  job.algorithm.kind = AlgorithmKind::grpo;  // divided by the temperature
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).forward, 38);
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).backward, 46);
  job.train.cross_entropy = CrossEntropy::fused;
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).forward, 4);
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).backward, 4);
  job.train.cross_entropy = CrossEntropy::linear;  // in eager operations over chunks
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).forward, 54);
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).backward, 58);
  EXPECT_TRUE(recomputes_logits(job.train));
  job.train.kernels = KernelStack::fused;
  EXPECT_DOUBLE_EQ(logit_bytes(job, m).backward, 4);
  EXPECT_FALSE(recomputes_logits(job.train));
}

TEST(LogitPasses, NemoRlTakesEachSequenceOutOfThePack) {
  Job job = llama_job(1);
  job.algorithm.kind = AlgorithmKind::grpo;
  job.framework.kind = FrameworkKind::nemo_rl;
  job.train.packing = true;
  // Four sequences of 1,024: 16 B each beside 18 + 8; the loss's kernels four times.
  MicroBatch const four{4096, 4096, 4 * 1024.0 * 1025 / 2};
  EXPECT_NEAR(logit_bytes(job, four).backward, 26 + 4 * 16, 1e-9);
  EXPECT_NEAR(loss_kernels(job, four).forward, 4 * 80, 1e-9);
  EXPECT_NEAR(loss_kernels(job, four).backward, 4 * 60, 1e-9);
  job.framework.kind = FrameworkKind::verl;
  EXPECT_DOUBLE_EQ(logit_bytes(job, four).backward, 26);
  EXPECT_DOUBLE_EQ(loss_kernels(job, four).forward, 80);
}

}  // namespace
}  // namespace rollcast
