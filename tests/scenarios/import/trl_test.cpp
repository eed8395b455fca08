// Configurations of TRL; the expected values are those of the files in tests/data/import.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/import/imported.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

TEST(ImportTrl, GrpoBesideAServerOfOneGpu) {
  Job const j = import_job(FrameworkKind::trl, "trl_grpo_qwen25_1b.yaml");
  EXPECT_EQ(j.model.name, "qwen2.5-1.5b");
  EXPECT_EQ(j.framework.kind, FrameworkKind::trl);
  // 16 a device x 16 steps of accumulation x 7 processes = 1792 samples, in groups of 7
  EXPECT_EQ(j.algorithm.prompts, 256);
  EXPECT_EQ(j.algorithm.group_size, 7);
  EXPECT_EQ(j.algorithm.train_batch, 1792);
  EXPECT_FALSE(j.algorithm.kl_reference);
  ASSERT_EQ(j.pools.size(), 2U);
  EXPECT_EQ(j.pools[0].cluster.gpus(), 7);
  EXPECT_EQ(j.pools[1].cluster.gpus(), 1);
  EXPECT_EQ(j.train.micro_batch, 16);
  EXPECT_EQ(j.train.recompute, Recompute::full);
  EXPECT_DOUBLE_EQ(j.rollout.gpu_memory_utilization, 0.7);
  EXPECT_EQ(longest(j.workload.response_tokens), 1024);
}

TEST(ImportTrl, DpoWithTheFileOfAccelerate) {
  ImportedScenario const r = import_file(FrameworkKind::trl, data_file("trl_dpo.sh"), {});
  Job const j = job_of(r);
  EXPECT_EQ(j.algorithm.kind, AlgorithmKind::dpo);
  EXPECT_EQ(j.algorithm.train_batch, 64);  // 2 x 8 x 4 processes; the command overrules the file's 8
  EXPECT_EQ(j.cluster.gpus(), 4);
  EXPECT_EQ(j.train.kind, TrainerKind::deepspeed);
  EXPECT_EQ(j.train.zero_stage, 3);  // of the file
  ASSERT_TRUE(j.algorithm.adapter);
  EXPECT_EQ(j.algorithm.adapter->rank, 32);
  EXPECT_FALSE(holds(r.unused, "zero_stage"));
}

ImportedScenario command(std::string const& text, ImportOptions const& options = {}) {
  return import_command(FrameworkKind::trl, text, "", options);
}

TEST(ImportTrl, ServerAndTrainerOfOneScript) {
  Job const j = job_of(command(
      "CUDA_VISIBLE_DEVICES=0,1,2,3 trl vllm-serve --model Qwen/Qwen2.5-7B --tensor_parallel_size 2 "
      "--data_parallel_size 2 &\n"
      "CUDA_VISIBLE_DEVICES=4,5,6,7 accelerate launch train_grpo.py --model_name_or_path Qwen/Qwen2.5-7B "
      "--use_vllm true --vllm_mode server --per_device_train_batch_size 4 --gradient_accumulation_steps 2 "
      "--num_generations 8 --max_completion_length 2048 --beta 0.04"));
  ASSERT_EQ(j.pools.size(), 2U);
  EXPECT_EQ(j.pools[0].cluster.gpus(), 4);
  EXPECT_EQ(j.pools[1].cluster.gpus(), 4);  // 2 engines of 2
  EXPECT_EQ(j.rollout.parallel.tp, 2);
  EXPECT_EQ(j.algorithm.prompts, 4);  // 4 x 2 x 4 / 8
  EXPECT_TRUE(j.algorithm.kl_reference);
}

TEST(ImportTrl, ColocatedEngines) {
  ImportOptions options;
  options.gpus = 2;
  Job const j =
      job_of(command("trl grpo --model_name_or_path Qwen/Qwen3-0.6B --use_vllm --vllm_mode colocate "
                     "--per_device_train_batch_size 8 --num_generations 8",
                     options));
  EXPECT_EQ(j.cluster.gpus(), 2);
  EXPECT_DOUBLE_EQ(j.rollout.gpu_memory_utilization, 0.3);
  EXPECT_EQ(j.algorithm.prompts, 2);  // 8 x 2 / 8
}

TEST(ImportTrl, GeneratesByItselfWithoutVllm) {
  Job const j =
      job_of(command("accelerate launch --num_processes 8 grpo.py --model_name_or_path Qwen/Qwen3-0.6B"));
  EXPECT_EQ(j.rollout.kind, EngineKind::hf);
  EXPECT_EQ(j.algorithm.prompts, 8);  // 8 x 8 / 8
}

TEST(ImportTrl, SupervisedFineTuning) {
  Job const j =
      job_of(command("trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 2 "
                     "--gradient_accumulation_steps 8 --packing --max_length 4096 --num_processes 8"));
  EXPECT_EQ(j.algorithm.kind, AlgorithmKind::sft);
  EXPECT_EQ(j.algorithm.train_batch, 128);  // 2 x 8 x 8
  EXPECT_TRUE(j.train.packing);
}

TEST(ImportTrl, GroupsMustFill) {
  ImportedScenario const r = command(
      "accelerate launch --num_processes 4 grpo.py --model_name_or_path Qwen/Qwen3-0.6B "
      "--per_device_train_batch_size 1 --num_generations 8");
  EXPECT_THAT(format(r.problems), HasSubstr("4 samples of a step (4 GPUs) are no whole number of groups"));
}

TEST(ImportTrl, AMeanBeyondTheLongestIsRefused) {
  ImportOptions options;
  options.mean_response = 5000;
  ImportedScenario const r = import_file(FrameworkKind::trl, data_file("trl_grpo_qwen25_1b.yaml"), options);
  EXPECT_THAT(format(r.problems),
              HasSubstr("--mean-response: a mean of 5000 where the longest response has 1024"));
  for (std::int64_t mean : {1, 300, 900, 1000, 1023, 1024}) {
    options.mean_response = mean;
    import_job(FrameworkKind::trl, "trl_grpo_qwen25_1b.yaml", options);
  }
}

}  // namespace
}  // namespace rollcast
