// Configurations of NeMo RL; the expected values are those of the files in tests/data/import.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/scenarios/import/imported.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

// The published case of the same recipe, written by hand.
Job published() {
  ScenarioResult const r = read_scenario_file(
      std::string(ROLLCAST_SOURCE_DIR) + "/scenarios/published/R01-nemo-rl-8b-two-nodes-v0.5.yaml", {});
  EXPECT_TRUE(r.scenario) << format(r.problems);
  return r.scenario ? r.scenario->job : Job{};
}

TEST(ImportNemoRl, TheSameAsThePublishedCaseByHand) {
  ImportOptions options;
  options.mean_prompt = 127;
  options.mean_response = 1019;
  Job const j = import_job(FrameworkKind::nemo_rl, "nemo_rl_llama31_8b.yaml", options);
  Job const p = published();
  EXPECT_EQ(j.model.name, p.model.name);
  EXPECT_EQ(j.cluster.gpus(), p.cluster.gpus());
  EXPECT_EQ(j.algorithm.prompts, p.algorithm.prompts);
  EXPECT_EQ(j.algorithm.group_size, p.algorithm.group_size);
  EXPECT_EQ(j.algorithm.train_batch, p.algorithm.train_batch);
  EXPECT_EQ(j.algorithm.kl_reference, p.algorithm.kl_reference);
  EXPECT_EQ(j.train.kind, p.train.kind);
  EXPECT_EQ(j.train.parallel.tp, p.train.parallel.tp);
  EXPECT_EQ(j.train.parallel.pp, p.train.parallel.pp);
  EXPECT_EQ(j.train.micro_batch, p.train.micro_batch);
  EXPECT_EQ(j.train.logprob_micro_batch, p.train.logprob_micro_batch);
  EXPECT_EQ(j.train.packing, p.train.packing);
  EXPECT_EQ(j.train.pack_tokens, p.train.pack_tokens);
  EXPECT_EQ(j.train.recompute, p.train.recompute);
  EXPECT_EQ(j.train.distributed_optimizer, p.train.distributed_optimizer);
  EXPECT_EQ(j.rollout.kind, p.rollout.kind);
  EXPECT_EQ(j.rollout.parallel.tp, p.rollout.parallel.tp);
  EXPECT_DOUBLE_EQ(j.rollout.gpu_memory_utilization, p.rollout.gpu_memory_utilization);
  EXPECT_EQ(longest(j.workload.prompt_tokens), 127);
  EXPECT_EQ(longest(j.workload.response_tokens), longest(p.workload.response_tokens));  // 4096 - 127
  EXPECT_NEAR(mean(j.workload.response_tokens, 0), 1019, 1);
}

TEST(ImportNemoRl, AsynchronousOnPoolsOfTheirOwn) {
  Job const j = import_job(FrameworkKind::nemo_rl, "nemo_rl_llama31_8b_async.yaml");
  ASSERT_EQ(j.pools.size(), 2U);
  EXPECT_EQ(j.pools[0].cluster.nodes, 1);
  EXPECT_EQ(j.pools[1].cluster.nodes, 1);
  EXPECT_EQ(j.schedule.kind, ScheduleKind::async);
  EXPECT_EQ(j.schedule.async.queue, QueueRule::nemo_rl);
  EXPECT_DOUBLE_EQ(j.schedule.async.max_staleness, 1);
  EXPECT_DOUBLE_EQ(j.rollout.gpu_memory_utilization, 0.8);
  EXPECT_EQ(j.train.parallel.pp, 2);  // of the parent
}

TEST(ImportNemoRl, ACommandHasTheLastWord) {
  ImportedScenario const r = import_command(
      FrameworkKind::nemo_rl,
      "uv run examples/run_grpo_math.py --config nemo_rl_llama31_8b.yaml cluster.num_nodes=4 "
      "++policy.generation.vllm_cfg.tensor_parallel_size=2 policy.sequence_packing.enabled=false "
      "++policy.generation.vllm_kwargs.kv_cache_memory_bytes=21474836480",
      data_file(""), {});
  Job const j = job_of(r);
  EXPECT_EQ(j.cluster.nodes, 4);
  EXPECT_DOUBLE_EQ(j.rollout.kv_cache_bytes.value, 21'474'836'480);
  EXPECT_EQ(j.rollout.parallel.tp, 2);
  EXPECT_FALSE(j.train.packing);
  EXPECT_EQ(j.algorithm.prompts, 64);
}

TEST(ImportNemoRl, SaysWhereAParentIsMissing) {
  std::string const folder = testing::TempDir() + "/import_nemo_rl";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/c.yaml")
      << "defaults: ../nowhere.yaml\ngrpo: {num_prompts_per_step: 8}\npolicy: {model_name: "
         "Qwen/Qwen3-0.6B}\ncluster: {gpus_per_node: 8}\n";
  ImportedScenario const r = import_file(FrameworkKind::nemo_rl, folder + "/c.yaml", {});
  job_of(r);
  EXPECT_TRUE(holds(r.assumed, "what ../nowhere.yaml sets; it is not beside the configuration"));
  EXPECT_TRUE(holds(r.assumed, "grpo.num_generations_per_prompt = 16, the default of nemo-rl"));
  // A file that is its own parent ends.
  std::ofstream(folder + "/d.yaml") << "defaults: d.yaml\nsft: {max_num_steps: 1}\npolicy: {model_name: "
                                       "Qwen/Qwen3-0.6B}\ncluster: {gpus_per_node: 8}\n";
  EXPECT_EQ(job_of(import_file(FrameworkKind::nemo_rl, folder + "/d.yaml", {})).algorithm.kind,
            AlgorithmKind::sft);
  std::filesystem::remove_all(folder);
}

TEST(ImportNemoRl, EnginesNeedPartOfTheMachines) {
  ImportedScenario const r =
      import_command(FrameworkKind::nemo_rl,
                     "python examples/run_grpo.py --config nemo_rl_llama31_8b_async.yaml "
                     "policy.generation.colocated.resources.num_nodes=2",
                     data_file(""), {});
  EXPECT_THAT(format(r.problems),
              HasSubstr("the engines' nodes must be some of the cluster's; write 1 to 1"));
}

TEST(ImportNemoRl, NeedsABlockThatTrains) {
  ImportedScenario const r =
      import_command(FrameworkKind::nemo_rl, "python run_eval.py policy.model_name=Qwen/Qwen3-8B", "", {});
  EXPECT_THAT(format(r.problems), HasSubstr("no grpo, dpo or sft block"));
}

}  // namespace
}  // namespace rollcast
