#include "scenarios/check_collectives.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

// An FSDP trainer and engines on a node each.
ScenarioResult read(std::string const& framework, std::string const& trainer = "fsdp2",
                    std::string const& pools = "{train: {nodes: 1}, rollout: {nodes: 1}}") {
  return read_scenario_text(
      "model: llama-3.1-8b\ncluster: {node: hgx-h100, nodes: 2}\n"
      "algorithm: {kind: grpo, prompts: 64, group_size: 8}\n"
      "workload: {prompt_tokens: 128, response_tokens: 512, sibling_correlation: 0.5}\npools: " +
          pools + "\ntrain: {pool: train, trainer: " + trainer +
          "}\nrollout: {pool: rollout}\nframework: " + framework + "\nschedule: one_step_off\n",
      "f.yaml", {});
}

TEST(CheckCollectives, OptionsAreRead) {
  ScenarioResult const sender = read("{base: trl, sync_gather_stream: sender}");
  ASSERT_TRUE(sender.scenario) << format(sender.problems);
  EXPECT_EQ(sender.scenario->job.framework.sync_gather_stream, GatherStream::sender);
  EXPECT_EQ(sender.scenario->job.workload.sibling_correlation, 0.5);
  ScenarioResult const several =
      read("{base: trl, communicators: {per_gpu: 128, order: random, concurrent: 4}}");
  ASSERT_TRUE(several.scenario) << format(several.problems);
  CommunicatorOptions const& c = several.scenario->job.framework.communicators;
  EXPECT_EQ(c.per_gpu, 128);
  EXPECT_EQ(c.order, IssueOrder::random);
  EXPECT_EQ(c.concurrent, 4);
}

void expect_problem(ScenarioResult const& r, std::string const& key, std::string const& part) {
  EXPECT_FALSE(r.scenario);
  Problem const p = problem_of(r, key);
  EXPECT_NE(p.what.find(part), std::string::npos) << p.what;
}

TEST(CheckCollectives, WhatARunWouldIgnoreIsRefused) {
  expect_problem(read("{base: trl, sync_gather_stream: sender}", "megatron"), "framework.sync_gather_stream",
                 "gathers no weights");
  expect_problem(read("{base: trl, communicators: {order: random}}"), "framework.communicators.order",
                 "no order");
  expect_problem(read("{base: trl, communicators: {concurrent: 2}}"), "framework.communicators.concurrent",
                 "one collective");
  expect_problem(read("{base: trl, sync_gather_stream: sender, communicators: {per_gpu: 2}}"),
                 "framework.communicators.per_gpu", "sync_gather_stream");
  Job job = read("{base: trl, sync_gather_stream: sender}").scenario.value().job;
  job.role_pools.rollout = job.role_pools.actor;
  ASSERT_EQ(check_collectives(job).size(), 1U);
  EXPECT_NE(check_collectives(job)[0].what.find("share their GPUs"), std::string::npos);
  job.algorithm.kind = AlgorithmKind::sft;
  EXPECT_EQ(check_collectives(job).size(), 1U);
}

}  // namespace
}  // namespace rollcast
