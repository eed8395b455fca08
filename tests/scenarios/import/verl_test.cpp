// Configurations of verl; the expected values are those of the files in tests/data/import.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/import/imported.hpp"

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ImportedScenario command(std::string const& text, ImportOptions const& options = {}) {
  return import_command(FrameworkKind::verl, text, "", options);
}

std::string const kLeast =
    "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B "
    "algorithm.adv_estimator=grpo "
    "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8 ";

TEST(ImportVerl, GrpoOnOneNode) {
  Job const j = import_job(FrameworkKind::verl, "verl_qwen2_7b.sh");
  EXPECT_EQ(j.model.name, "qwen2.5-7b");  // Qwen2-7B has its shapes
  EXPECT_EQ(j.cluster.nodes, 1);
  EXPECT_EQ(j.cluster.node.gpus, 8);
  EXPECT_EQ(j.framework.kind, FrameworkKind::verl);
  EXPECT_FALSE(j.framework.optimizer_offload);
  EXPECT_TRUE(j.framework.reference_on_host);
  EXPECT_EQ(j.algorithm.kind, AlgorithmKind::grpo);
  EXPECT_EQ(j.algorithm.prompts, 1024);
  EXPECT_EQ(j.algorithm.group_size, 5);
  EXPECT_EQ(j.algorithm.train_batch, 1280);  // 256 prompts of 5 samples
  EXPECT_TRUE(j.algorithm.kl_reference);     // use_kl_loss
  EXPECT_EQ(j.train.kind, TrainerKind::fsdp2);
  EXPECT_TRUE(j.train.packing);  // use_remove_padding
  EXPECT_TRUE(j.train.dynamic_batching);
  EXPECT_EQ(j.train.tokens_per_micro_batch, 24000);
  EXPECT_EQ(j.train.balance, Balance::karmarkar_karp);
  EXPECT_EQ(j.train.recompute, Recompute::full);
  EXPECT_EQ(j.rollout.kind, EngineKind::sglang);  // $rollout_name
  EXPECT_EQ(j.rollout.parallel.tp, 2);
  EXPECT_DOUBLE_EQ(j.rollout.gpu_memory_utilization, 0.6);
  EXPECT_EQ(longest(j.workload.response_tokens), 1024);
  EXPECT_EQ(j.schedule.kind, ScheduleKind::synchronous);
}

TEST(ImportVerl, ListsWhatItLeavesOutAndWhatItAssumes) {
  ImportedScenario const r = import_file(FrameworkKind::verl, data_file("verl_qwen2_7b.sh"), {});
  EXPECT_TRUE(holds(r.unused, "actor_rollout_ref.actor.optim.lr (verl_qwen2_7b.sh:17)"));
  EXPECT_TRUE(holds(r.unused, "trainer.total_epochs"));
  EXPECT_FALSE(holds(r.unused, "trainer.nnodes"));
  EXPECT_TRUE(holds(r.assumed, "cluster.node: hgx-h100; the configuration names no machines (--node NAME)"));
  EXPECT_TRUE(holds(r.assumed, "trainer.balance_batch = true, the default of verl"));
  EXPECT_TRUE(holds(r.assumed, "workload.response_tokens: a mean of 256"));
  EXPECT_THAT(r.text, HasSubstr("#   trainer.total_epochs"));
  EXPECT_THAT(r.text, HasSubstr("#   cluster.node: hgx-h100"));
}

TEST(ImportVerl, MegatronWithVariables) {
  Job const j = import_job(FrameworkKind::verl, "verl_qwen3_30b_megatron.sh");
  EXPECT_EQ(j.model.name, "qwen3-30b-a3b");
  EXPECT_EQ(j.algorithm.train_batch, 2048);  // 128 x 16
  EXPECT_FALSE(j.algorithm.kl_reference);
  EXPECT_EQ(j.train.kind, TrainerKind::megatron);
  EXPECT_EQ(j.train.parallel.ep, 8);
  EXPECT_EQ(j.train.parallel.tp, 1);
  EXPECT_EQ(j.train.parallel.etp, 1);  // not given: tp
  EXPECT_EQ(j.train.expert_dispatch, ExpertDispatch::all_to_all);
  EXPECT_EQ(j.train.tokens_per_micro_batch, 10240);  // 2048 + 8192
  EXPECT_TRUE(j.train.offload.optimizer);            // optimizer_cpu_offload, all of it
  EXPECT_TRUE(j.framework.parameters_offload);
  EXPECT_FALSE(j.rollout.cuda_graphs);  // enforce_eager
  EXPECT_EQ(j.rollout.parallel.tp, 4);
  EXPECT_EQ(j.rollout.max_num_batched_tokens, 10240);
  EXPECT_EQ(longest(j.workload.response_tokens), 8192);
}

TEST(ImportVerl, TakesVariablesFromOutside) {
  ImportOptions options;
  options.defines = {{"NNODES", "2"}};
  options.node = "hgx-h20";
  Job const j = import_job(FrameworkKind::verl, "verl_qwen3_30b_megatron.sh", options);
  EXPECT_EQ(j.cluster.nodes, 2);
  EXPECT_EQ(j.cluster.node.name, "hgx-h20");
}

TEST(ImportVerl, FullyAsynchronous) {
  Job const j = import_job(FrameworkKind::verl, "verl_fully_async.sh");
  EXPECT_EQ(j.model.name, "qwen2.5-math-7b");  // by the end of a path whose folder is not known
  EXPECT_EQ(j.model.max_context, 256 + 8192);  // its own 4096 are too few
  ASSERT_EQ(j.pools.size(), 2U);
  EXPECT_EQ(j.pools[0].cluster.gpus(), 4);  // 8 - 4
  EXPECT_EQ(j.pools[1].cluster.gpus(), 4);
  EXPECT_EQ(j.role_pools.actor, 0);
  EXPECT_EQ(j.role_pools.rollout, 1);
  EXPECT_EQ(j.algorithm.prompts, 128);      // 32 a fetch, 4 fetches a version
  EXPECT_EQ(j.algorithm.train_batch, 512);  // 32 x 16
  EXPECT_EQ(j.schedule.kind, ScheduleKind::async);
  EXPECT_EQ(j.schedule.async.queue, QueueRule::verl);
  EXPECT_DOUBLE_EQ(j.schedule.async.max_staleness, 1);
  EXPECT_EQ(j.schedule.async.parts_per_step, 4);
  EXPECT_TRUE(j.schedule.async.partial_rollout);
  EXPECT_EQ(j.train.shard_ranks, 2);
  EXPECT_EQ(j.train.tokens_per_micro_batch, 20480);          // 10240 x 2
  EXPECT_EQ(j.train.logprob_tokens_per_micro_batch, 30720);  // 10240 x 3
}

TEST(ImportVerl, OneStepOffWithAdapter) {
  Job const j = job_of(command(
      "python3 -m recipe.one_step_off_policy.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-4B "
      "algorithm.adv_estimator=grpo data.train_batch_size=8 actor_rollout_ref.rollout.n=5 "
      "actor_rollout_ref.actor.ppo_mini_batch_size=8 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 "
      "actor_rollout_ref.model.lora_rank=16 actor_rollout_ref.model.target_modules='all-linear' "
      "actor_rollout_ref.rollout.name=vllm trainer.nnodes=1 trainer.n_gpus_per_node=4 rollout.nnodes=1 "
      "rollout.n_gpus_per_node=4"));
  EXPECT_EQ(j.schedule.kind, ScheduleKind::one_step_off);
  ASSERT_EQ(j.pools.size(), 2U);
  EXPECT_EQ(j.pools[0].cluster.gpus(), 4);
  ASSERT_TRUE(j.algorithm.adapter);
  EXPECT_EQ(j.algorithm.adapter->rank, 16);
  EXPECT_EQ(j.algorithm.adapter->targets.size(), 7U);
  EXPECT_EQ(j.algorithm.adapter->sync, AdapterSync::adapter);
}

TEST(ImportVerl, PpoWithCriticAndRewardModel) {
  Job const j =
      job_of(command("python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae "
                     "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
                     "critic.model.path=Qwen/Qwen2.5-1.5B trainer.critic_warmup=2 reward_model.enable=True "
                     "reward_model.model.path=meta-llama/Llama-3.1-8B actor_rollout_ref.rollout.name=vllm "
                     "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 "
                     "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2"));
  EXPECT_EQ(j.algorithm.kind, AlgorithmKind::ppo);
  ASSERT_TRUE(j.critic);
  EXPECT_EQ(j.critic->name, "qwen2.5-1.5b");
  ASSERT_TRUE(j.reward_model);
  EXPECT_EQ(j.reward_model->name, "llama-3.1-8b");
  EXPECT_EQ(j.algorithm.critic_warmup, 2);
  EXPECT_EQ(j.train.parallel.cp, 2);
  EXPECT_EQ(j.train.context_parallel, ContextParallel::ulysses);
  EXPECT_EQ(j.train.micro_batch, 2);
}

TEST(ImportVerl, DynamicSamplingSandboxAndTurns) {
  Job const j = job_of(command(
      kLeast +
      "data.train_batch_size=64 data.gen_batch_size=192 algorithm.filter_groups.enable=True "
      "algorithm.filter_groups.max_num_gen_batches=5 reward_model.sandbox_fusion.url=http://h/run "
      "reward_model.sandbox_fusion.max_concurrent=32 actor_rollout_ref.rollout.multi_turn.enable=True "
      "actor_rollout_ref.rollout.multi_turn.max_assistant_turns=4 "
      "actor_rollout_ref.actor.ppo_mini_batch_size=64"));
  ASSERT_TRUE(j.algorithm.dynamic_sampling);
  EXPECT_DOUBLE_EQ(j.algorithm.dynamic_sampling->oversampling, 3);  // 192 / 64
  EXPECT_EQ(j.algorithm.dynamic_sampling->most_rounds, 5);
  ASSERT_TRUE(j.score.sandbox);
  EXPECT_EQ(j.score.sandbox->workers, 32);
  ASSERT_TRUE(j.score.environment);
  EXPECT_EQ(j.score.environment->turns, 4);
}

TEST(ImportVerl, SupervisedFineTuning) {
  Job const j = job_of(command(
      "torchrun --nnodes=1 --nproc_per_node=4 -m verl.trainer.fsdp_sft_trainer data.train_batch_size=128 "
      "data.micro_batch_size_per_gpu=4 data.max_length=2048 "
      "model.partial_pretrain=Qwen/Qwen2.5-0.5B-Instruct"));
  EXPECT_EQ(j.algorithm.kind, AlgorithmKind::sft);
  EXPECT_EQ(j.algorithm.train_batch, 128);
  EXPECT_EQ(j.cluster.node.gpus, 4);
  EXPECT_EQ(j.train.micro_batch, 4);
}

TEST(ImportVerl, TellsWrongValuesWithTheirPlace) {
  ImportedScenario const r = command(kLeast + "\\\n  trainer.nnodes=two \\\n  data.max_prompt_length=0");
  EXPECT_EQ(r.text, "");
  ASSERT_EQ(r.problems.size(), 2U);
  EXPECT_THAT(format(r.problems[0]), HasSubstr("--cmd:2:3: trainer.nnodes: 'two'; write a whole number\n"));
  EXPECT_THAT(format(r.problems[1]),
              HasSubstr("--cmd:3:3: data.max_prompt_length: '0'; write a whole number"));
}

TEST(ImportVerl, TellsVariablesThatNothingSets) {
  ImportedScenario const r = command(kLeast + "trainer.nnodes=$NODES");
  ASSERT_EQ(r.problems.size(), 1U);
  EXPECT_THAT(format(r.problems),
              HasSubstr("NODES is not known here; give its value with --define NODES=VALUE"));
}

TEST(ImportVerl, PoolsThatFillNoNode) {
  // 6 + 2 GPUs on each of 2 nodes: nodes of their own
  Job j = job_of(
      command(kLeast +
              "actor_rollout_ref.hybrid_engine=False data.train_batch_size=96 "
              "actor_rollout_ref.actor.ppo_mini_batch_size=96 trainer.nnodes=2 trainer.n_gpus_per_node=6 "
              "rollout.nnodes=2 rollout.n_gpus_per_node=2"));
  EXPECT_EQ(j.pools[0].cluster.gpus(), 12);
  EXPECT_EQ(j.pools[1].cluster.gpus(), 4);
  // 2 + 2 GPUs: one node of 4
  j = job_of(command(kLeast + "actor_rollout_ref.hybrid_engine=False trainer.n_gpus_per_node=2 "
                              "rollout.n_gpus_per_node=2"));
  EXPECT_EQ(j.cluster.gpus(), 4);
  // a whole node and 4 GPUs
  j = job_of(command(kLeast + "actor_rollout_ref.hybrid_engine=False rollout.n_gpus_per_node=4"));
  EXPECT_EQ(j.pools[0].cluster.gpus(), 8);
  EXPECT_EQ(j.pools[1].cluster.gpus(), 4);
}

TEST(ImportVerl, NeedsALaunchCommandAndAModel) {
  EXPECT_THAT(format(command("ls -l").problems), HasSubstr("no command here starts verl"));
  EXPECT_THAT(format(command("python3 -m verl.trainer.main_ppo trainer.nnodes=1").problems),
              HasSubstr("the model is not given"));
}

TEST(ImportVerl, WritesAnUnknownModelAsItIs) {
  ImportedScenario const r = command(
      "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=/models/our-own "
      "algorithm.adv_estimator=grpo");
  EXPECT_TRUE(r.problems.empty());
  EXPECT_TRUE(holds(r.assumed, "write the path of its config.json"));
  EXPECT_FALSE(r.doubts.empty());
}

}  // namespace
}  // namespace rollcast
