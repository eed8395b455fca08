#include "models/checkpoint.hpp"

#include <gtest/gtest.h>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

// 8,030,261,248 parameters over eight ranks, each byte once: fp32 parameters and two states under FSDP2; bf16
// weights, fp32 masters and two states of DeepSpeed, cut or not.
TEST(Checkpoint, EveryByteIsSavedOnce) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 8);
  double const each = 8'030'261'248.0 / 8;
  job.train.zero_stage = 1;
  EXPECT_DOUBLE_EQ(checkpoint_bytes(job, 0).value, (2 + 4 + 8) * each);
  job.checkpoint.optimizer = false;
  EXPECT_DOUBLE_EQ(checkpoint_bytes(job, 0).value, 2 * each);
  job.train.kind = TrainerKind::fsdp2;
  job.train.zero_stage = 3;
  EXPECT_DOUBLE_EQ(checkpoint_bytes(job, 0).value, 4 * each);
  job.checkpoint.optimizer = true;
  EXPECT_DOUBLE_EQ(checkpoint_bytes(job, 0).value, (4 + 8) * each);
}

// Optimizer states that were offloaded for the rollout are still on the host when the step ends with a wake.
TEST(Checkpoint, HostHoldsWhatTheStepEndsWith) {
  Job job = test::colocated_grpo();
  job.checkpoint.every = 1;
  RankLedger const l = memory_ledger(job).front();
  Bytes const states = test::sum(l, MemoryCategory::optimizer_states, true);
  EXPECT_GT(states.value, 0);
  EXPECT_NEAR(total(l, Phase::checkpoint, true).value,
              total(l, Phase::wake, true).value + checkpoint_bytes(job, 0).value, 1);
}

}  // namespace
}  // namespace rollcast
