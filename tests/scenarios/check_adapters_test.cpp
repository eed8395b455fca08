// Several adapters on one base.
#include "scenarios/check_adapters.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

Job grpo(std::string const& adapter) {
  ScenarioResult const r = read_scenario_text(
      "model: llama-3.1-8b\ncluster: {node: hgx-h100, nodes: 1}\n"
      "algorithm: {kind: grpo, prompts: 64, group_size: 8, train_batch: 64, adapter: " +
          adapter + "}\nworkload: {prompt_tokens: 128, response_tokens: 512}\n",
      "f.yaml", {});
  EXPECT_TRUE(r.scenario) << format(r.problems);
  return r.scenario.value().job;
}

void expect_one(Job const& job, std::string const& key, std::string const& part) {
  std::vector<Problem> const p = check_adapters(job);
  ASSERT_EQ(p.size(), 1U) << key << "\n" << format(p);
  EXPECT_EQ(p[0].key, key);
  EXPECT_NE(p[0].what.find(part), std::string::npos) << p[0].what;
  EXPECT_FALSE(p[0].remedy.empty());
}

TEST(CheckAdapters, OneAdapterIsFineEitherWay) {
  EXPECT_TRUE(check_adapters(grpo("{rank: 16, targets: [q, v]}")).empty());
  EXPECT_TRUE(check_adapters(grpo("{rank: 16, targets: [q, v], sync: adapter, count: 64}")).empty());
}

TEST(CheckAdapters, SeveralCannotBeMerged) {
  Job job = grpo("{rank: 16, targets: [q, v], sync: adapter, count: 4}");
  job.algorithm.adapter->sync = AdapterSync::merged;
  expect_one(job, "algorithm.adapter.sync", "4 adapters cannot all be merged");
}

TEST(CheckAdapters, EachNeedsAPromptAndASample) {
  Job job = grpo("{rank: 16, targets: [q, v], sync: adapter, count: 64}");
  job.algorithm.prompts = 63;
  expect_one(job, "algorithm.adapter.count", "63 prompts a step are fewer than the 64 adapters");
  job.algorithm.prompts = 64;
  job.algorithm.train_batch = 63;
  expect_one(job, "algorithm.adapter.count", "of 63 samples");
}

}  // namespace
}  // namespace rollcast
