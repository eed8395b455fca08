// Configurations of OpenRLHF; the expected values are those of the files in tests/data/import.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/import/imported.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

TEST(ImportOpenrlhf, PpoWithEverythingOnTheSameGpus) {
  Job const j = import_job(FrameworkKind::openrlhf, "openrlhf_ppo_llama3_8b.sh");
  EXPECT_EQ(j.model.name, "llama-3-8b");  // by the name Llama-3-8b-sft-mixture
  EXPECT_EQ(j.framework.kind, FrameworkKind::openrlhf);
  EXPECT_EQ(j.cluster.gpus(), 8);
  EXPECT_TRUE(j.pools.size() <= 1);
  EXPECT_EQ(j.algorithm.kind, AlgorithmKind::ppo);
  EXPECT_EQ(j.algorithm.prompts, 1024);
  EXPECT_EQ(j.algorithm.train_batch, 128);
  EXPECT_TRUE(j.algorithm.reward_model);
  EXPECT_TRUE(j.algorithm.kl_reference);
  EXPECT_EQ(j.train.kind, TrainerKind::deepspeed);
  EXPECT_EQ(j.train.zero_stage, 3);
  EXPECT_TRUE(j.train.packing);
  EXPECT_TRUE(j.train.dynamic_batching);
  EXPECT_EQ(j.train.tokens_per_micro_batch, 16384);
  EXPECT_EQ(j.train.recompute, Recompute::full);
  EXPECT_TRUE(j.framework.optimizer_offload);  // deepspeed_enable_sleep
  EXPECT_EQ(j.rollout.parallel.tp, 2);
  EXPECT_DOUBLE_EQ(j.rollout.gpu_memory_utilization, 0.5);
  EXPECT_FALSE(j.rollout.cuda_graphs);
  EXPECT_TRUE(j.rollout.logprobs);  // enable_vllm_is_correction
  EXPECT_EQ(longest(j.workload.response_tokens), 1024);
}

TEST(ImportOpenrlhf, RolesOnPoolsOfTheirOwn) {
  Job const j = import_job(FrameworkKind::openrlhf, "openrlhf_ppo_separate.sh");
  ASSERT_EQ(j.pools.size(), 3U);  // actor with reference, engines, critic with reward model
  EXPECT_EQ(j.pools[0].cluster.gpus(), 2);
  EXPECT_EQ(j.pools[1].cluster.gpus(), 4);  // 2 engines of 2
  EXPECT_EQ(j.pools[2].cluster.gpus(), 2);
  EXPECT_EQ(j.role_pools.reference, j.role_pools.actor);
  EXPECT_EQ(j.role_pools.critic, 2);
  EXPECT_EQ(j.role_pools.reward, 2);
  EXPECT_TRUE(j.train.offload.optimizer);  // adam_offload
  EXPECT_EQ(j.train.micro_batch, 8);
  EXPECT_EQ(j.train.logprob_micro_batch, 32);
}

TEST(ImportOpenrlhf, DpoThroughAHeredoc) {
  Job const j = import_job(FrameworkKind::openrlhf, "openrlhf_dpo.sh");
  EXPECT_EQ(j.algorithm.kind, AlgorithmKind::dpo);
  EXPECT_EQ(j.algorithm.train_batch, 256);
  EXPECT_EQ(j.cluster.gpus(), 8);  // ${NPROC_PER_NODE:-8}
  EXPECT_EQ(j.train.micro_batch, 1);
  EXPECT_TRUE(j.train.packing);
}

ImportedScenario command(std::string const& flags) {
  return import_command(
      FrameworkKind::openrlhf,
      "python3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen3-4B-Thinking-2507 " + flags, "", {});
}

TEST(ImportOpenrlhf, AsynchronousGroupsWithoutCritic) {
  // train_reinforce_baseline_ray_agent_async.sh: 4 GPUs train, 2 engines of 2 GPUs generate
  Job const j = job_of(command(
      "--advantage_estimator reinforce_baseline --async_train --colocate_all_models --ref_num_nodes 1 "
      "--ref_num_gpus_per_node 4 --actor_num_nodes 1 --actor_num_gpus_per_node 4 --vllm_num_engines 2 "
      "--vllm_tensor_parallel_size 2 --rollout_batch_size 128 --n_samples_per_prompt 8 --train_batch_size "
      "1024 "
      "--dynamic_filtering --agent_func_path a.py --ring_attn_size 2 --packing_samples --use_kl_loss "
      "--micro_train_batch_size 1 --generate_max_len 64000 --prompt_max_len 10240 --init_kl_coef 1e-5"));
  EXPECT_EQ(j.model.name, "qwen3-4b-2507");
  EXPECT_EQ(j.algorithm.kind, AlgorithmKind::grpo);
  EXPECT_EQ(j.algorithm.group_size, 8);
  EXPECT_TRUE(j.algorithm.kl_reference);
  EXPECT_FALSE(j.algorithm.reward_model);
  EXPECT_TRUE(j.algorithm.dynamic_sampling);
  ASSERT_EQ(j.pools.size(), 2U);
  EXPECT_EQ(j.pools[0].cluster.gpus(), 4);
  EXPECT_EQ(j.pools[1].cluster.gpus(), 4);
  EXPECT_EQ(j.schedule.kind, ScheduleKind::one_step_off);  // a queue of one batch
  EXPECT_EQ(j.train.parallel.cp, 2);
  EXPECT_EQ(j.train.context_parallel, ContextParallel::ring);
  EXPECT_EQ(longest(j.workload.response_tokens), 64000);
}

TEST(ImportOpenrlhf, LongerQueuesAndQlora) {
  Job const j = job_of(command(
      "--advantage_estimator group_norm --async_train --async_queue_size 3 --actor_num_gpus_per_node 4 "
      "--colocate_actor_ref --vllm_num_engines 4 --n_samples_per_prompt 4 --remote_rm_url http://x "
      "--load_in_4bit --lora_rank 8 --target_modules q_proj v_proj"));
  EXPECT_EQ(j.schedule.kind, ScheduleKind::async);
  EXPECT_DOUBLE_EQ(j.schedule.async.max_staleness, 3);
  ASSERT_TRUE(j.algorithm.adapter);
  EXPECT_EQ(j.algorithm.adapter->kind, AdapterKind::qlora);
  EXPECT_EQ(j.algorithm.adapter->targets, (std::vector<std::string>{"q", "v"}));
}

TEST(ImportOpenrlhf, HidesSecrets) {
  ImportedScenario const r = command("--use_wandb 0123456789abcdef --wandb_key topsecret --zero_stage 9");
  EXPECT_THAT(format(r.problems), HasSubstr("--zero_stage"));
  EXPECT_THAT(format(r.problems), testing::Not(HasSubstr("topsecret")));
  ImportedScenario const good = command("--wandb_key topsecret");
  EXPECT_THAT(good.text, testing::Not(HasSubstr("topsecret")));
  EXPECT_TRUE(holds(good.unused, "--wandb_key"));
}

}  // namespace
}  // namespace rollcast
