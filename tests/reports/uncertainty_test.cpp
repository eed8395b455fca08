// Bands over draws, worked out by hand.
#include "reports/uncertainty.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/analysis.hpp"
#include "reports/forecast.hpp"
#include "reports/model_error.hpp"
#include "reports/uncertainty_report.hpp"
#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

// 1 to 9: p10 at place 0.1 x 10 = 1, p90 at place 9. 0, 10, ..., 190: place 2.1 of 20 is 10 + 0.1 x 10, the
// median at 10.5, p90 at 18.9. Of two values the ends.
TEST(Band, CutsAtTheChanceOfAFurtherDraw) {
  std::vector<double> nine, twenty;
  for (int i = 9; i >= 1; --i) nine.push_back(i);
  for (int i = 0; i < 20; ++i) twenty.push_back(10 * i);
  Band b = band_of(nine);
  EXPECT_DOUBLE_EQ(b.p10, 1);
  EXPECT_DOUBLE_EQ(b.p50, 5);
  EXPECT_DOUBLE_EQ(b.p90, 9);
  b = band_of(twenty);
  EXPECT_DOUBLE_EQ(b.p10, 11);
  EXPECT_DOUBLE_EQ(b.p50, 95);
  EXPECT_DOUBLE_EQ(b.p90, 179);
  b = band_of({2, 1});
  EXPECT_EQ(b.p10, 1);
  EXPECT_EQ(b.p90, 2);
  EXPECT_THROW(band_of({}), std::logic_error);
}

// Half widths of ln e^0.3 and ln e^0.4 with a term of 0.4 and 0.3: 0.5 each.
TEST(Band, TheModelsErrorAddsInSquares) {
  Band const narrow{std::exp(-0.3), 1, std::exp(0.3)};
  Band const b = with_model_error(narrow, 0.4);
  EXPECT_DOUBLE_EQ(b.p10, std::exp(-0.5));
  EXPECT_EQ(b.p50, 1);
  EXPECT_DOUBLE_EQ(b.p90, std::exp(0.5));
  EXPECT_DOUBLE_EQ(with_model_error(narrow, 0).p90, narrow.p90);
  EXPECT_EQ(with_model_error({0, 1, 2}, 1).p90, 2);  // of what may be 0 there is no ratio
}

Headline slower(Headline h, double factor) {
  h.step = h.step * factor;
  for (PhaseHeadline& p : h.phases) p.mean = p.mean * factor;
  return h;
}

// Nine draws 1, 1.1, ..., 1.8 times as slow, and one that ran out of memory.
Uncertainty small() {
  Headline const forecast = headline_of(analyse(small_log()));
  std::vector<Headline> draws;
  for (int i = 0; i < 9; ++i) draws.push_back(slower(forecast, 1 + 0.1 * i));
  Headline dead;
  dead.outcome = Outcome::oom;
  draws.push_back(dead);
  return uncertainty_of(
      forecast, draws,
      {{PriceKind::passes, 0.1, 0.0001}, {PriceKind::engine, 0.25, -0.02}, {PriceKind::products, 0.1, 0.01}});
}

TEST(Uncertainty, EveryFigureHasItsBand) {
  Uncertainty const u = small();
  EXPECT_EQ(u.draws, 10);
  EXPECT_EQ(u.completed, 9);
  FigureBand const& step = u.figures.front();
  EXPECT_EQ(step.forecast.name, "step_seconds");
  EXPECT_DOUBLE_EQ(step.draws.p10, step.forecast.value);
  EXPECT_DOUBLE_EQ(step.draws.p50, 1.4 * step.forecast.value);
  EXPECT_DOUBLE_EQ(step.draws.p90, 1.8 * step.forecast.value);
  ASSERT_TRUE(step.with_model);
  EXPECT_DOUBLE_EQ(step.with_model->p90,
                   step.draws.p50 * std::exp(std::hypot(std::log(1.8 / 1.4), *kept_model_term("step"))));
  bool phase = false, busy = false, peak = false;
  for (FigureBand const& b : u.figures) {
    phase = phase || (b.forecast.phase == "generate" && b.draws.p90 > b.draws.p10);
    busy = busy || (b.forecast.name == "busy_fraction" && !b.with_model);
    peak = peak || b.forecast.name == "peak_bytes";
  }
  EXPECT_TRUE(phase && busy && peak);
  // Largest first, whatever its sign; what does nothing is left out.
  ASSERT_EQ(u.effects.size(), 2U);
  EXPECT_EQ(u.effects[0].kind, PriceKind::engine);
}

TEST(Uncertainty, IsToldToPeopleAndPrograms) {
  Uncertainty const u = small();
  std::string const text = uncertainty_text(u, 100);
  for (char const* part : {"How sure that is (10 draws", "9 of the draws completed", "tokens/s/GPU",
                           "engine overhead +28 % -> -2.0 %, products +11 % -> +1.0 %"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  auto const json = uncertainty_json(u);
  EXPECT_EQ(json["completed"], 9);
  EXPECT_EQ(json["figures"][0]["name"], "step_seconds");
  EXPECT_TRUE(json["figures"][0]["pool"].is_null());
  EXPECT_EQ(json["price_effects"][0]["kind"], "engine overhead");
}

// Each draw of a is 2/3 of the same draw of b, whatever both did: the ratio has no width.
TEST(PairedDraws, HaveTheCommonErrorOut) {
  Headline const forecast = headline_of(analyse(small_log()));
  std::vector<Headline> a, b;
  for (double const factor : {0.8, 1.0, 1.3}) {
    a.push_back(slower(forecast, 2 * factor));
    b.push_back(slower(forecast, 3 * factor));
  }
  auto const step = [](Headline const& h) { return h.step.value; };
  Band const ratio = band_of(ratios(a, b, step));
  EXPECT_DOUBLE_EQ(ratio.p10, 2.0 / 3);
  EXPECT_DOUBLE_EQ(ratio.p90, 2.0 / 3);
  EXPECT_TRUE(tells_a_difference(ratio));
  EXPECT_FALSE(tells_a_difference({0.9, 1.1, 1.2}));
  a[1].outcome = Outcome::stalled;
  EXPECT_EQ(ratios(a, b, step).size(), 2U);
  b.pop_back();
  EXPECT_THROW(ratios(a, b, step), std::logic_error);
}

// The same draw of a scenario has the same prices and lengths, in whatever process; another one others.
TEST(DrawnForecast, IsAFunctionOfItsDraw) {
  ScenarioSource const source{"s.yaml",
                              "model: qwen2.5-0.5b\n"
                              "cluster: {node: hgx-h100, nodes: 1}\n"
                              "framework: nemo-rl\n"
                              "algorithm: {kind: grpo, prompts: 8, group_size: 4, train_batch: 32}\n"
                              "workload: {prompt_tokens: 16, response_tokens: 64}\n"
                              "train: {trainer: megatron, micro_batch: 1}\n"
                              "rollout: {engine: vllm}\n",
                              {}};
  ForkPool pool = forecast_pool(2, {source});
  std::vector<ForecastTask> tasks(4);
  tasks[1].draw = tasks[2].draw = 3;
  tasks[3].draw = 4;
  EXPECT_EQ(forecast_task_from_text(to_text(tasks[1])).draw, tasks[1].draw);
  auto const h = forecast_all(pool, tasks);
  ASSERT_EQ(h[0].outcome, Outcome::completed) << h[0].reason;
  EXPECT_EQ(to_text(h[1]), to_text(h[2]));
  EXPECT_NE(h[1].step.value, h[0].step.value);
  EXPECT_NE(h[1].step.value, h[3].step.value);
}

}  // namespace
}  // namespace rollcast
