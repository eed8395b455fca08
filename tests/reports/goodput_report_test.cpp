#include "reports/goodput_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/analysis.hpp"
#include "reports/terminal.hpp"
#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

// Two steps of 100 and 120 s: 110 s; checkpoints every 30 of them, that is every 3300 s.
TEST(GoodputReport, TakesTheStepOfTheRun) {
  Analysis const a = analyse(small_log_of_a_long_run());
  ASSERT_TRUE(a.long_run.has_value());
  GoodputReport const& r = *a.long_run;
  EXPECT_DOUBLE_EQ(r.run.step.value, 110);
  EXPECT_EQ(r.every, 30);
  EXPECT_TRUE(r.saves);
  // Daly: sqrt(2 x 20 x 86,400) = 1859.0; times 1 + sqrt(20 / 172,800) / 3 + ..., 1.0036, less 20: 1845.7
  // s, 16.8 steps.
  EXPECT_EQ(r.daly, 17);
  EXPECT_GE(r.with_best.share.mean, r.with_every.share.mean);
  EXPECT_NEAR(r.gpu_hours_lost(), (1 - r.with_every.share.mean) * 240 * 4, 1e-9);
}

// A checkpoint phase of 10 s in the second step is no part of the step between checkpoints.
TEST(GoodputReport, LeavesCheckpointsOutOfTheStep) {
  EventLog log = small_log_of_a_long_run();
  log.phases.push_back({0, 1, Phase::checkpoint, log.steps[1].end, log.steps[1].end + seconds(10)});
  log.steps[1].end += seconds(10);
  EXPECT_DOUBLE_EQ(analyse(log).long_run->run.step.value, 110);
}

TEST(GoodputReport, IsOfCompletedRunsThatAskForIt) {
  EXPECT_FALSE(analyse(small_log()).long_run.has_value());
  EventLog log = small_log_of_a_long_run();
  log.outcome = Outcome::oom;
  EXPECT_FALSE(analyse(log).long_run.has_value());
}

// Without failures only checkpoints cost: 10 days / (3300 + 20) s = 260.2, so 260 of 20 s, 0.602 % of the
// time.
TEST(GoodputReport, SaysWhereTheTimeGoes) {
  EventLog log = small_log_of_a_long_run();
  log.long_run->run.between_failures = seconds(1e15);
  GoodputReport const r = *analyse(log).long_run;
  EXPECT_NEAR(r.with_every.share.mean, 1 - 260 * 20 / 864'000.0, 1e-9);
  EXPECT_EQ(goodput_heading(r), "Over 10 days");
  std::string const text = goodput_text(r, 120);
  EXPECT_NE(text.find("99.4 % (p10-p90 99.4 % to 99.4 %) with a checkpoint every 30 steps (55.0 min)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("0.6 % checkpoints, 0.0 % work that is lost, 0.0 % recovery"), std::string::npos)
      << text;
  EXPECT_NE(text.find("training waits 20.0 s, written 5.00 s later"), std::string::npos) << text;
  EXPECT_NE(render_terminal(analyse(log), {}).find("\nOver 10 days\n"), std::string::npos);
  auto const j = goodput_json(r);
  EXPECT_EQ(j["checkpoint_every"], 30);
  EXPECT_DOUBLE_EQ(j["checkpoint_seconds"].get<double>(), 5200);
  EXPECT_DOUBLE_EQ(j["lost_seconds"].get<double>(), 0);
}

TEST(GoodputReport, WithoutAnIntervalItIsTheBest) {
  EventLog log = small_log_of_a_long_run();
  log.long_run->every = 0;
  GoodputReport const r = *analyse(log).long_run;
  EXPECT_EQ(r.every, r.best);
  EXPECT_TRUE(goodput_json(r)["checkpoint_every"].is_null());
  EXPECT_NE(goodput_text(r, 200).find("the best; the scenario itself writes none"), std::string::npos);
}

}  // namespace
}  // namespace rollcast
