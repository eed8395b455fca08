// Configurations of slime; the expected values are those of the files in tests/data/import.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/import/imported.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

TEST(ImportSlime, ColocatedMegatron) {
  ImportedScenario const r = import_file(FrameworkKind::slime, data_file("slime_qwen3_30b.sh"), {});
  Job const j = job_of(r);
  EXPECT_EQ(j.model.name, "qwen3-30b-a3b");
  EXPECT_EQ(j.framework.kind, FrameworkKind::slime);
  EXPECT_EQ(j.cluster.gpus(), 8);
  EXPECT_EQ(j.algorithm.prompts, 8);
  EXPECT_EQ(j.algorithm.group_size, 4);
  EXPECT_EQ(j.algorithm.train_batch, 32);
  EXPECT_TRUE(j.algorithm.kl_reference);  // --use-kl-loss
  EXPECT_EQ(j.train.kind, TrainerKind::megatron);
  EXPECT_EQ(j.train.parallel.tp, 4);
  EXPECT_EQ(j.train.parallel.ep, 8);  // over tensor- and data-parallel ranks
  EXPECT_EQ(j.train.parallel.etp, 1);
  EXPECT_TRUE(j.train.sequence_parallel);
  EXPECT_EQ(j.train.recompute, Recompute::full);
  EXPECT_EQ(j.train.tokens_per_micro_batch, 20480);
  EXPECT_EQ(j.train.balance, Balance::karmarkar_karp);
  EXPECT_EQ(j.train.gradients, DType::fp32);
  EXPECT_TRUE(j.train.offload.optimizer);
  EXPECT_EQ(j.rollout.kind, EngineKind::sglang);
  EXPECT_EQ(j.rollout.parallel.tp, 8);
  EXPECT_DOUBLE_EQ(j.rollout.gpu_memory_utilization, 0.7);
  EXPECT_EQ(longest(j.workload.response_tokens), 8192);
  EXPECT_TRUE(holds(r.assumed, "models/qwen3-30B-A3B.sh' is not beside the script"));
  EXPECT_TRUE(holds(r.assumed, "${MODEL_ARGS[@]} is empty"));
  EXPECT_TRUE(holds(r.unused, "--rm-type (slime_qwen3_30b.sh:"));
}

ImportedScenario command(std::string const& text) {
  return import_command(
      FrameworkKind::slime,
      "python3 " + text +
          " --hf-checkpoint /root/Qwen3-4B --rollout-batch-size 32 --n-samples-per-prompt 8 "
          "--rollout-max-response-len 8192 --use-dynamic-batch-size --max-tokens-per-gpu 9216 ",
      "", {});
}

TEST(ImportSlime, SeparateEnginesOneStepAhead) {
  Job const j =
      job_of(command("train_async.py --actor-num-gpus-per-node 4 --rollout-num-gpus 4 "
                     "--tensor-model-parallel-size 2 --context-parallel-size 2 --num-steps-per-rollout 2"));
  EXPECT_EQ(j.schedule.kind, ScheduleKind::one_step_off);
  ASSERT_EQ(j.pools.size(), 2U);
  EXPECT_EQ(j.pools[1].cluster.gpus(), 4);
  EXPECT_EQ(j.algorithm.train_batch, 128);  // 32 x 8 / 2
  EXPECT_EQ(j.train.parallel.cp, 2);
}

TEST(ImportSlime, LongerIntervalsOversamplingAndDrafts) {
  Job const j = job_of(
      command("train_async.py --actor-num-gpus-per-node 4 --rollout-num-gpus 4 --update-weights-interval 3 "
              "--over-sampling-batch-size 64 --dynamic-sampling-filter-path a.b --partial-rollout "
              "--sglang-speculative-algorithm EAGLE --sglang-speculative-num-steps 3"));
  EXPECT_EQ(j.schedule.kind, ScheduleKind::async);
  EXPECT_EQ(j.schedule.async.queue, QueueRule::slime);
  EXPECT_EQ(j.schedule.async.sync_every, 3);
  EXPECT_FALSE(j.algorithm.dynamic_sampling);  // an asynchronous run has no rounds
  EXPECT_TRUE(j.schedule.async.partial_rollout);
  ASSERT_TRUE(j.rollout.speculative);
  EXPECT_EQ(j.rollout.speculative->draft_tokens, 3);
}

TEST(ImportSlime, OversamplingInRounds) {
  std::string const least = "train.py --actor-num-gpus-per-node 8 --colocate ";
  Job j = job_of(
      command(least + "--over-sampling-batch-size 64 --dynamic-sampling-filter-path a.b --partial-rollout"));
  ASSERT_TRUE(j.algorithm.dynamic_sampling);
  EXPECT_DOUBLE_EQ(j.algorithm.dynamic_sampling->oversampling, 2);  // 64 / 32
  EXPECT_FALSE(j.rollout.partial_rollout);
  j = job_of(command(least + "--over-sampling-batch-size 48 --partial-rollout"));
  EXPECT_DOUBLE_EQ(j.rollout.oversampling, 1.5);
  EXPECT_TRUE(j.rollout.partial_rollout);
}

TEST(ImportSlime, TellsWhatIsMissing) {
  EXPECT_THAT(format(command("train.py").problems), HasSubstr("GPUs of the engines are not given"));
  EXPECT_THAT(format(import_command(FrameworkKind::slime, "python train.py --colocate", "", {}).problems),
              HasSubstr("the model is not given"));
}

}  // namespace
}  // namespace rollcast
