// The planner on spaces that are small enough to be simulated whole.
#include "reports/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "models/ledger.hpp"
#include "models/pools.hpp"
#include "reports/json_schema.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

char const* const kMegatron = R"(
model: qwen2.5-1.5b
cluster: {node: {base: hgx-h100, gpus: 4, nics: 4, numa_nodes: 1}, nodes: 1}
framework: nemo-rl
algorithm: {kind: grpo, prompts: 16, group_size: 8, train_batch: 64, kl_reference: true}
workload: {prompt_tokens: 128, response_tokens: {lognormal: {mean: 300, p95: 700}, max: 1024}}
train: {trainer: megatron, parallel: {tp: 2, pp: 1}, micro_batch: 1, packing: true, recompute: full}
rollout: {engine: vllm, parallel: {tp: 2}, gpu_memory_utilization: 0.5}
)";

char const* const kFsdp = R"(
model: qwen2.5-7b
cluster: {node: hgx-h100, nodes: 1}
framework: verl
algorithm: {kind: grpo, prompts: 32, group_size: 4, train_batch: 64}
workload: {prompt_tokens: 256, response_tokens: {lognormal: {mean: 400, p95: 900}, max: 1536}}
train: {trainer: fsdp2, dynamic_batching: true, tokens_per_micro_batch: 8192, recompute: full}
rollout: {engine: vllm, parallel: {tp: 4}, gpu_memory_utilization: 0.4}
)";

struct Case {
  ScenarioSource source;
  Scenario scenario;
};

Case case_of(char const* text) {
  ScenarioSource const source{"plan.yaml", text, {}};
  ScenarioResult read = read_scenario_text(text, "plan.yaml", {});
  EXPECT_TRUE(read.scenario) << format(read.problems);
  return {source, std::move(*read.scenario)};
}

// Simulates on `workers` processes, each layout once.
class Forecasts {
 public:
  Forecasts(ScenarioSource const& source, int workers) : pool_(forecast_pool(workers, {source})) {}
  std::vector<Headline> operator()(std::vector<std::pair<std::vector<std::string>, int>> const& tasks) {
    std::vector<ForecastTask> fresh;
    for (auto const& [sets, steps] : tasks) {
      ForecastTask const t{0, sets, 1, steps};
      if (known_.count(to_text(t)) == 0) fresh.push_back(t);
    }
    std::vector<Headline> const headlines = forecast_all(pool_, fresh);
    for (std::size_t i = 0; i < fresh.size(); ++i) known_[to_text(fresh[i])] = headlines[i];
    std::vector<Headline> out;
    for (auto const& [sets, steps] : tasks)
      out.push_back(known_.at(to_text(ForecastTask{0, sets, 1, steps})));
    return out;
  }

 private:
  ForkPool pool_;
  std::map<std::string, Headline> known_;
};

void expect_guided_is_as_good(char const* text, std::vector<std::string> const& keep) {
  Case const c = case_of(text);
  Forecasts forecasts(c.source, 2);
  PlanForecasts const ask = [&](auto const& tasks) { return forecasts(tasks); };
  PlanSpace const space =
      plan_space(c.source, c.scenario.job, static_cast<int>(c.scenario.job.cluster.gpus()), keep);
  ASSERT_GT(space.fitting, 80);
  PlanRuns all(space, ask);
  EXPECT_TRUE(search(all, {.exhaustive = true}));
  EXPECT_EQ(static_cast<std::int64_t>(all.count()), space.fitting);
  PlanRuns some(space, ask);
  EXPECT_FALSE(search(some, {.small = 0, .file = layout_of_file(space, c.scenario.job)}));
  EXPECT_LT(some.count(), all.count());
  double const best = all.seconds(all.ranking().front());
  EXPECT_LE(some.seconds(some.ranking().front()), 1.02 * best)
      << some.count() << " of " << all.count() << " simulated";
}

TEST(PlanSearch, GuidedFindsTheOptimumOfAMegatronSpace) {
  expect_guided_is_as_good(kMegatron, {"framework.*_offload", "train.offload.optimizer", "train.recompute",
                                       "schedule", "rollout.gpu_memory_utilization"});
}

TEST(PlanSearch, GuidedFindsTheOptimumOfAnFsdpSpace) {
  expect_guided_is_as_good(kFsdp, {"framework.*_offload", "train.offload.optimizer", "placement", "schedule",
                                   "train.parallel.cp"});
}

// Every layout of the space reads as its --set values say, and the ledger of what is read is the table's.
TEST(PlanSpace, LayoutsAreWhatTheirSetsRead) {
  Case const c = case_of(kMegatron);
  PlanSpace const s = plan_space(c.source, c.scenario.job, 4, {});
  int looked_at = 0;
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    for (std::size_t t = 0; t < s.sites[i].trainers.size(); t += 29) {
      PlanLayout const l{i, t, t % s.sites[i].engines.size()};
      ScenarioResult const read = read_scenario_text(kMegatron, "plan.yaml", {sets_of(s, l), {}});
      ASSERT_TRUE(read.scenario) << format(read.problems);
      Bytes peak_bytes;
      Bytes least(1e18);
      for (int pool = 0; pool < static_cast<int>(pools_of(read.scenario->job).size()); ++pool) {
        for (RankLedger const& ledger : memory_ledger(on_pool(read.scenario->job, pool))) {
          MemoryPeak const top = peak(ledger);
          if (!(ledger.capacity - top.bytes < least)) continue;
          least = ledger.capacity - top.bytes;
          peak_bytes = top.bytes;
        }
      }
      EXPECT_NEAR(s.sites[i].table.peak_bytes({l.trainer, l.engine}).value, peak_bytes.value, 100);
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 20);
}

// A single knob away: everything else is the same.
TEST(PlanSpace, NeighboursDifferInOneKnob) {
  Case const c = case_of(kMegatron);
  PlanSpace const s = plan_space(c.source, c.scenario.job, 4, {});
  auto const file = layout_of_file(s, c.scenario.job);
  ASSERT_TRUE(file);
  for (std::size_t knob = 0; knob + 1 < knob_count(s); ++knob) {
    for (PlanLayout const& l : neighbours(s, *file, knob)) {
      for (std::size_t other = 0; other < knob_count(s); ++other)
        EXPECT_EQ(value_text(s, other, l) == value_text(s, other, *file), other != knob)
            << knob_name(s, other);
    }
  }
}

TEST(PlanKnobs, FollowTheTrainer) {
  auto const names = [](char const* text) {
    std::vector<std::string> out;
    for (PlanKnob const& k : trainer_knobs(case_of(text).scenario.job)) out.push_back(k.name);
    return out;
  };
  EXPECT_THAT(names(kMegatron), testing::Contains("train.parallel.pp"));
  EXPECT_THAT(names(kMegatron), testing::Contains("train.micro_batch"));
  EXPECT_THAT(names(kFsdp), testing::Not(testing::Contains("train.parallel.pp")));
  EXPECT_THAT(names(kFsdp), testing::Contains("train.tokens_per_micro_batch"));
}

// What is named runs; the same bytes on one process and on two.
TEST(Plan, RunsAndIsTheSameOnAnyNumberOfProcesses) {
  Case const c = case_of(kMegatron);
  PlanOptions options;
  options.keep = {"framework.*_offload", "train.offload.optimizer",        "train.recompute",  "schedule",
                  "placement",           "rollout.gpu_memory_utilization", "train.micro_batch"};
  options.most_gpus = 8;
  std::vector<Plan> plans;
  for (int workers : {1, 2}) {
    Forecasts forecasts(c.source, workers);
    plans.push_back(
        make_plan(c.source, c.scenario, options, [&](auto const& tasks) { return forecasts(tasks); }));
  }
  EXPECT_EQ(plan_text(plans[0]), plan_text(plans[1]));
  EXPECT_EQ(plan_json(plans[0]), plan_json(plans[1]));
  EXPECT_EQ(plan_csv(plans[0]), plan_csv(plans[1]));
  Plan const& p = plans[0];
  ASSERT_FALSE(p.best.empty());
  ASSERT_TRUE(p.minimum);
  EXPECT_LE(p.minimum->gpus, 4);
  for (PlannedLayout const& l : p.best) {
    EXPECT_EQ(l.headline.outcome, Outcome::completed);
    EXPECT_TRUE(l.peak.fits());
  }
  EXPECT_THAT(plan_text(p), testing::StartsWith("Best on 4 GPUs"));
  EXPECT_THAT(plan_text(p), HasSubstr("--set 'rollout.parallel.tp="));
  auto const json = nlohmann::json::parse(plan_json(p));
  for (auto const& [key, value] : json.items())
    EXPECT_THAT(plan_json_markdown(), HasSubstr("`" + key)) << key;
  for (auto const& [key, value] : json.at("best").at(0).items())
    EXPECT_THAT(plan_json_markdown(), HasSubstr("`best[]." + key)) << key;
}

// 32B with optimizer states on the GPU: 18 B x 32.8e9 over two cards of 79 GiB do not go.
TEST(Plan, SaysWhatIsMissing) {
  std::string const text =
      std::string(kFsdp).replace(std::string(kFsdp).find("qwen2.5-7b"), 10, "qwen2.5-32b");
  Case const c = case_of(text.c_str());
  PlanOptions options;
  options.gpus = 2;
  options.most_gpus = 2;
  options.keep = {"train.offload.optimizer", "framework.*_offload"};
  Forecasts forecasts(c.source, 2);
  Plan const p =
      make_plan(c.source, c.scenario, options, [&](auto const& tasks) { return forecasts(tasks); });
  EXPECT_TRUE(p.best.empty());
  ASSERT_TRUE(p.shortage);
  EXPECT_THAT(p.shortage->what, HasSubstr("lacks"));
  EXPECT_FALSE(p.minimum);
  EXPECT_EQ(p.too_few, (std::vector<int>{1, 2}));
  EXPECT_THAT(plan_text(p), testing::StartsWith("Nothing runs on 2 GPUs"));
}

}  // namespace
}  // namespace rollcast
