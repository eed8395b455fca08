// Problems between schedule, pools, scoring and stages.
#include "scenarios/check_pipeline.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

// 64 prompts of 8 samples, a trainer and engines on a node each. Llama-3.1-8B has 32 layers.
Job apart() {
  ScenarioResult const r = read_scenario_text(
      "model: llama-3.1-8b\ncluster: {node: hgx-h100, nodes: 2}\n"
      "algorithm: {kind: grpo, prompts: 64, group_size: 8}\n"
      "workload: {prompt_tokens: 128, response_tokens: 512}\n"
      "pools: {train: {nodes: 1}, rollout: {nodes: 1}}\ntrain: {pool: train}\nrollout: {pool: rollout}\n",
      "f.yaml", {});
  EXPECT_TRUE(r.scenario) << format(r.problems);
  return r.scenario.value().job;
}

Job asynchronous() {
  Job job = apart();
  job.schedule.kind = ScheduleKind::async;
  return job;
}

void expect_one(Job const& job, std::string const& key, std::string const& part) {
  std::vector<Problem> const p = check_pipeline(job);
  ASSERT_EQ(p.size(), 1U) << key << "\n" << format(p);
  EXPECT_EQ(p[0].key, key);
  EXPECT_NE(p[0].what.find(part), std::string::npos) << p[0].what;
  EXPECT_FALSE(p[0].remedy.empty());
}

TEST(CheckPipeline, GoodJobsPass) {
  EXPECT_TRUE(check_pipeline(apart()).empty());
  for (QueueRule q : {QueueRule::verl, QueueRule::areal, QueueRule::slime, QueueRule::nemo_rl}) {
    Job job = asynchronous();
    job.schedule.async.queue = q;
    EXPECT_TRUE(check_pipeline(job).empty()) << name_of(q);
  }
}

TEST(CheckPipeline, Stages) {
  Job job = apart();
  job.train.virtual_stages = 2;
  expect_one(job, "train.virtual_stages", "interleaved pipeline of one rank");
  job.train.parallel.pp = 4;  // 8 chunks of 4 layers
  EXPECT_TRUE(check_pipeline(job).empty());
  job.train.virtual_stages = 3;  // 32 layers are not 12 equal chunks
  expect_one(job, "train.virtual_stages", "32 layers of llama-3.1-8b cannot be split");
  job.train.virtual_stages = 1;
  job.train.first_stage_layers = 29;  // one each is left for 3 ranks
  EXPECT_TRUE(check_pipeline(job).empty());
  job.train.first_stage_layers = 30;  // one rank has none
  expect_one(job, "train.virtual_stages", "cannot be split");
}

TEST(CheckPipeline, SchedulesNeedPools) {
  for (ScheduleKind k : {ScheduleKind::one_step_off, ScheduleKind::async}) {
    Job job = apart();
    job.schedule.kind = k;
    job.role_pools.rollout = job.role_pools.actor;
    expect_one(job, "schedule", "on GPUs that the trainer and the engines share");
  }
}

TEST(CheckPipeline, PartsOfAStep) {
  Job job = asynchronous();
  job.schedule.async.parts_per_step = 3;
  job.algorithm.train_batch = 8;
  expect_one(job, "schedule.async.parts_per_step", "64 prompts do not divide into 3 parts");
  job.schedule.async.parts_per_step = 4;  // 512 / 4 = 128 samples a part
  job.algorithm.train_batch = 128;
  EXPECT_TRUE(check_pipeline(job).empty());
  job.algorithm.train_batch = 256;
  expect_one(job, "algorithm.train_batch", "only 128 come in one of 4 parts");
}

TEST(CheckPipeline, StalenessByRule) {
  Job job = asynchronous();
  job.schedule.async.max_staleness = 0.5;
  job.schedule.async.queue = QueueRule::verl;
  EXPECT_TRUE(check_pipeline(job).empty());
  job.schedule.async.queue = QueueRule::areal;
  expect_one(job, "schedule.async.max_staleness", "areal counts whole versions");
  job.schedule.async.queue = QueueRule::nemo_rl;
  job.schedule.async.max_staleness = 0;
  expect_one(job, "schedule.async.max_staleness", "one step at least");
}

TEST(CheckPipeline, GenerationWithoutAnEnd) {
  Job job = asynchronous();
  job.algorithm.dynamic_sampling = DynamicSampling{};
  expect_one(job, "algorithm.dynamic_sampling", "asynchronous run");
  job = asynchronous();
  job.rollout.oversampling = 1.5;
  expect_one(job, "rollout.oversampling", "nothing to oversample");
  job = asynchronous();
  job.rollout.kind = EngineKind::hf;
  expect_one(job, "rollout.engine", "whole batches");
  job = asynchronous();
  job.rollout.feed = 32;
  expect_one(job, "rollout.feed", "as they go");
}

TEST(CheckPipeline, Experience) {
  Job job = apart();
  job.framework.experience = Experience::stream;
  expect_one(job, "framework.experience", "no model has GPUs of its own");
  job.algorithm.reward_model = true;
  job.pools.push_back(job.pools.back());
  job.role_pools.reward = 2;
  EXPECT_TRUE(check_pipeline(job).empty());
  job.framework.experience = Experience::batch;
  expect_one(job, "framework.experience", "no batches");
  job.rollout.feed = 8;
  EXPECT_TRUE(check_pipeline(job).empty());
  job.schedule.kind = ScheduleKind::one_step_off;
  expect_one(job, "framework.experience", "one_step_off");
}

TEST(CheckPipeline, CriticInTheBackground) {
  Job job = apart();
  job.framework.critic_in_background = true;
  expect_one(job, "framework.critic_in_background", "no GPUs of its own");
  job.algorithm.kind = AlgorithmKind::ppo;
  expect_one(job, "framework.critic_in_background", "no GPUs of its own");
  job.pools.push_back(job.pools.back());
  job.role_pools.critic = 2;
  EXPECT_TRUE(check_pipeline(job).empty());
}

TEST(CheckPipeline, ThreadsOfAnOptimizerThatIsNotOnTheHost) {
  // OpenRLHF's preset has host_threads: 1, which says nothing until the optimizer is on the host.
  std::string const text =
      "model: llama-3.1-8b\ncluster: {node: hgx-h100, nodes: 2}\nframework: openrlhf\n"
      "algorithm: {kind: grpo, prompts: 64, group_size: 8}\n"
      "workload: {prompt_tokens: 128, response_tokens: 512}\n"
      "pools: {train: {nodes: 1}, rollout: {nodes: 1}}\nrollout: {pool: rollout}\n";
  auto const read = [&](std::string const& train) {
    return read_scenario_text(text + "train: {pool: train" + train + "}\n", "f.yaml", {});
  };
  EXPECT_TRUE(read("").scenario);
  ScenarioResult const hand = read(", host_threads: 4");
  ASSERT_EQ(hand.problems.size(), 1U) << format(hand.problems);
  EXPECT_EQ(hand.problems[0].key, "train.host_threads");
  ScenarioResult const host = read(", host_threads: 4, offload: {optimizer: true}");
  ASSERT_TRUE(host.scenario) << format(host.problems);
  EXPECT_EQ(host.scenario->job.train.host_threads, 4);
}

TEST(CheckPipeline, PaddedScoringNeedsAModel) {
  Job job = apart();
  job.score.padded_tokens = 4096;
  expect_one(job, "score.padded_tokens", "neither a critic nor a reward model");
  job.algorithm.reward_model = true;
  EXPECT_TRUE(check_pipeline(job).empty());
}

TEST(CheckPipeline, WeightsNeedAWay) {
  Job job = apart();
  job.pools[1].cluster.node.nics = 0;
  expect_one(job, "pools", "the nodes of pool rollout have no network cards");
  // Parts of one node have its links.
  for (Pool& p : job.pools) p.part_of_node = true;
  EXPECT_TRUE(check_pipeline(job).empty());
}

TEST(CheckPipeline, Oversampling) {
  Job job = apart();
  job.rollout.partial_rollout = true;
  expect_one(job, "rollout.partial_rollout", "nothing is unfinished");
  job.rollout.oversampling = 1.5;
  EXPECT_TRUE(check_pipeline(job).empty());
  job.algorithm.dynamic_sampling = DynamicSampling{};
  expect_one(job, "rollout.oversampling", "an oversampling of its own");
}

TEST(CheckPipeline, TimesThatNoDistributionHas) {
  // exp(1.645^2 / 2) = 3.87 is the most that a log-normal's 95th percentile can be over its mean.
  Job job = apart();
  job.score.environment = Environment{.turns = 2, .tool = {seconds(1), seconds(3.8)}};
  EXPECT_TRUE(check_pipeline(job).empty());
  job.score.environment->tool.p95 = seconds(4);
  expect_one(job, "score.environment.tool_seconds", "no log-normal");
  job.score.environment.reset();
  job.score.sandbox = Sandbox{.workers = 8, .seconds = {seconds(1), seconds(3)}, .timeout = seconds(2)};
  expect_one(job, "score.sandbox.seconds", "time-out");
  job.score.sandbox->seconds.p95 = {};  // always the mean
  EXPECT_TRUE(check_pipeline(job).empty());
}

TEST(CheckPipeline, TrainingAloneAsksForStagesOnly) {
  Job job = apart();
  job.algorithm.kind = AlgorithmKind::sft;
  job.pools[1].cluster.node.nics = 0;
  job.rollout.partial_rollout = true;
  EXPECT_TRUE(check_pipeline(job).empty());
}

}  // namespace
}  // namespace rollcast
