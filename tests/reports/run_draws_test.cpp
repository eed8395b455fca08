// Draws of a real run. Every simulation runs in a child process.
#include "reports/run_draws.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "calibrate/profiles.hpp"
#include "reports/log_file.hpp"
#include "reports/run_apart.hpp"
#include "reports/uncertainty_report.hpp"

namespace rollcast {
namespace {

Scenario small_scenario() {
  ScenarioResult read = read_scenario_text(
      "model: qwen2.5-0.5b\n"
      "cluster: {node: hgx-h100, nodes: 1}\n"
      "framework: nemo-rl\n"
      "algorithm: {kind: grpo, prompts: 8, group_size: 4, train_batch: 32}\n"
      "workload: {prompt_tokens: 16, response_tokens: {lognormal: {mean: 64, p95: 150}, max: 256}}\n"
      "train: {trainer: megatron, micro_batch: 1}\n"
      "rollout: {engine: vllm}\n",
      "s.yaml", {});
  if (!read.scenario) throw std::logic_error(format(read.problems));
  return *read.scenario;
}

TEST(PerturbedRun, IsTheSameByteForByteWithFactorsOfOne) {
  Scenario const s = small_scenario();
  std::vector<Profile> const prices = profiles_for(s.job);
  PriceErrors const none;
  auto const log_of = [&](std::vector<Profile> const& p) {
    ApartResult const r = run_apart([&] { return log_text(simulate(s, p, {.steps = 2})); });
    EXPECT_EQ(r.error, "");
    return r.text;
  };
  EXPECT_EQ(log_of(perturbed(prices, {none}, price_scores(1, 0))), log_of(prices));
}

TEST(RunDraws, AreTheSameOnAnyNumberOfWorkers) {
  Scenario const s = small_scenario();
  DrawnRun const run{s, profiles_for(s.job), price_errors_for(s.job), {.steps = 1}};
  Uncertainty const u = drawn_uncertainty(run, 9, 1);
  EXPECT_EQ(uncertainty_json(drawn_uncertainty(run, 9, 3)).dump(), uncertainty_json(u).dump());
  EXPECT_EQ(u.completed, 9);
  EXPECT_GT(u.figures.front().draws.p90, u.figures.front().draws.p10);
  ASSERT_FALSE(u.effects.empty());
  EXPECT_GT(u.effects.front().step_change, 0);  // what is dearer takes longer
}

// Without any error of prices only the lengths differ; a run of fixed lengths has no band at all.
TEST(RunDraws, FixedLengthsAndCertainPricesLeaveNoDoubt) {
  Scenario s = small_scenario();
  s.job.workload.response_tokens = {FixedLength{64}, 0, 0};
  DrawnRun const run{s, profiles_for(s.job), {PriceErrors{}}, {.steps = 1}};
  Uncertainty const u = drawn_uncertainty(run, 9, 2);
  for (FigureBand const& b : u.figures) {
    EXPECT_EQ(b.draws.p10, b.forecast.value) << b.forecast.name << b.forecast.phase;
    EXPECT_EQ(b.draws.p90, b.forecast.value) << b.forecast.name << b.forecast.phase;
  }
  EXPECT_TRUE(u.effects.empty());
}

}  // namespace
}  // namespace rollcast
