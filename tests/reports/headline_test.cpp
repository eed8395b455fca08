#include "reports/headline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "reports/analysis.hpp"
#include "reports/forecast.hpp"
#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

TEST(Headline, ComesBackFromItsText) {
  Headline h = headline_of(analyse(small_log()));
  h.dollars_per_step = 0.1;
  h.mean_staleness = 1.0 / 3;
  Headline const back = headline_from_text(to_text(h));
  EXPECT_EQ(to_text(back), to_text(h));
  EXPECT_EQ(back.step.value, h.step.value);  // to the last bit
  EXPECT_EQ(back.pools.size(), h.pools.size());
  EXPECT_EQ(back.phases.size(), h.phases.size());
}

TEST(Headline, HasTheAnalysisFigures) {
  Analysis const a = analyse(small_log());
  Headline const h = headline_of(a);
  EXPECT_EQ(h.steps, a.step.steps);
  EXPECT_EQ(h.step.value, a.step.mean.value);
  EXPECT_EQ(h.pools.at(0).busy_fraction, a.pools.at(0).busy_fraction);
  EXPECT_EQ(h.phases.at(0).mean.value, a.phases.at(0).mean.value);
}

// Of every pool, no more than the step.
TEST(Headline, HasTheTimeOfThePhasesOfAPool) {
  Analysis const a = analyse(small_log());
  Headline const h = headline_of(a);
  for (std::size_t i = 0; i < h.pools.size(); ++i) {
    Seconds sum;
    for (PhaseTime const& p : a.phases) {
      if (p.pool != static_cast<int>(i)) continue;
      sum += p.mean;
      if (p.phase == Phase::generate) sum -= p.by_activity[index_of(Activity::phase_wait)];
    }
    EXPECT_DOUBLE_EQ(h.pools[i].work.value, std::min(sum.value, h.step.value));
  }
}

TEST(Forecast, ATaskComesBackFromItsText) {
  ForecastTask const t{2, {"train.parallel.tp=2", "a=\"b\""}, 18446744073709551615u, 3};
  ForecastTask const back = forecast_task_from_text(to_text(t));
  EXPECT_EQ(back.source, 2);
  EXPECT_EQ(back.sets, t.sets);
  EXPECT_EQ(back.seed, t.seed);
  EXPECT_EQ(back.steps, 3);
}

// The same scenario, seed and steps give the same bytes in whatever worker, and another seed other ones.
TEST(Forecast, IsTheSameInEveryWorker) {
  ScenarioSource const source{"two.yaml",
                              "model: qwen2.5-0.5b-instruct\n"
                              "cluster: {node: hgx-h100, nodes: 1}\n"
                              "framework: verl\n"
                              "algorithm: {kind: grpo, prompts: 8, group_size: 8, train_batch: 64}\n"
                              "workload: {prompt_tokens: 100, response_tokens: {lognormal: {mean: 200, p95: "
                              "500}, max: 800}}\n"
                              "train: {trainer: fsdp2}\n"
                              "rollout: {engine: vllm}\n",
                              {}};
  ForkPool pool = forecast_pool(2, {source});
  std::vector<ForecastTask> tasks(6);
  tasks[4].seed = 2;
  tasks[5].sets = {"train.nonsense=1"};
  auto const h = forecast_all(pool, tasks);
  ASSERT_EQ(h[0].outcome, Outcome::completed) << h[0].reason;
  for (int i = 1; i < 4; ++i) EXPECT_EQ(to_text(h[static_cast<std::size_t>(i)]), to_text(h[0]));
  EXPECT_NE(to_text(h[4]), to_text(h[0]));
  EXPECT_EQ(h[5].outcome, Outcome::infeasible);
  EXPECT_EQ(h[5].reason.find("train.nonsense"), 0u) << h[5].reason;
}

}  // namespace
}  // namespace rollcast
