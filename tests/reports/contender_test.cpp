#include "reports/contender.hpp"

#include <gtest/gtest.h>

#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

Job small_job(double dollars) {
  Job job;
  job.cluster.nodes = 1;
  job.cluster.node.gpus = 4;
  job.cluster.node.gpu.name = "h100-sxm";
  job.cluster.node.gpu.dollars_per_hour = dollars;
  return job;
}

// Steps of 100 s and 120 s on 4 GPUs: a mean of 110 s costs 4 x 3 $ x 110 / 3600.
TEST(Contender, RunHasTheFiguresOfItsLog) {
  ContenderRun const r = contender_run(small_log(), small_job(3), {});
  ASSERT_EQ(r.steps.size(), 2u);
  EXPECT_EQ(r.steps[1].value, 120);
  EXPECT_EQ(r.gpus, std::vector<std::string>{"h100-sxm"});
  EXPECT_DOUBLE_EQ(r.dollars_per_hour.value(), 12);
  EXPECT_NEAR(r.headline.dollars_per_step.value(), 12 * 110 / 3600.0, 1e-12);
  EXPECT_EQ(r.exposed.size(), r.headline.phases.size());
  // --price takes the place of the catalog's; of another card it does not.
  EXPECT_DOUBLE_EQ(contender_run(small_log(), small_job(3), {{"h100-sxm", 2}}).dollars_per_hour.value(), 8);
  EXPECT_DOUBLE_EQ(contender_run(small_log(), small_job(3), {{"l40s", 2}}).dollars_per_hour.value(), 12);
  EXPECT_FALSE(contender_run(small_log(), small_job(0), {}).dollars_per_hour);
}

TEST(Contender, RunComesBackFromItsText) {
  ContenderRun const r = contender_run(small_log(), small_job(3), {});
  ContenderRun const back = contender_run_from_text(to_text(r));
  EXPECT_EQ(to_text(back), to_text(r));
  EXPECT_EQ(back.critical_path.size(), r.critical_path.size());
  EXPECT_EQ(back.collective_wait.has_value(), r.collective_wait.has_value());
  ContenderRun const failed = contender_run_of({"", "its process was ended"});
  EXPECT_EQ(failed.headline.outcome, Outcome::failed);
  EXPECT_EQ(failed.headline.reason, "its process was ended");
}

// Two runs alike, the second with steps of twice the time: 100, 120, 200, 240 s. 8 samples each step: 32 in
// 660 s. The 10th percentile of four lies 0.3 of the way from the first to the second.
TEST(Contender, FiguresAreOverAllRuns) {
  ContenderRun const one = contender_run(small_log(), small_job(3), {});
  ContenderRun two = one;
  for (Seconds& s : two.steps) s *= 2;
  two.headline.step *= 2;
  two.headline.samples_per_second /= 2;
  two.headline.tokens_per_second_per_gpu /= 2;
  two.headline.pools[0].peak = GiB(76);
  for (PathShare& p : two.critical_path) p.seconds *= 2;
  ContenderFigures const f = figures_of({one, two});
  EXPECT_EQ(f.completed, 2);
  EXPECT_TRUE(f.can_win(2));
  EXPECT_EQ(f.step.steps, 4);
  EXPECT_DOUBLE_EQ(f.step.mean.value, 165);
  EXPECT_DOUBLE_EQ(f.step.p10.value, 106);
  EXPECT_DOUBLE_EQ(f.samples_per_second, 32 / 660.0);
  EXPECT_DOUBLE_EQ(f.samples_per_step, 8);
  EXPECT_DOUBLE_EQ(f.tokens_per_step, 8800);
  EXPECT_EQ(f.pools.at(0).peak.value, GiB(76).value);
  Seconds path;
  for (PathShare const& p : f.critical_path) path += p.seconds;
  EXPECT_NEAR(path.value, 165, 1e-9);
  // The weight sync of 10 s a step in one, 20 s in the other, lies on the path.
  EXPECT_DOUBLE_EQ(f.exposed_sync.value, 15);
}

TEST(Contender, FiguresOfARunThatFailsTellItsMemoryAlone) {
  ContenderRun const good = contender_run(small_log(), small_job(3), {});
  ContenderRun const bad = contender_run(small_log_with_oom(), small_job(3), {});
  ContenderFigures const f = figures_of({good, bad});
  EXPECT_EQ(f.outcome, Outcome::oom);
  EXPECT_EQ(f.completed, 1);
  EXPECT_FALSE(f.can_win(2));
  EXPECT_EQ(f.step.steps, 2);
  ContenderFigures const alone = figures_of({bad});
  EXPECT_EQ(alone.step.steps, 0);
  EXPECT_EQ(alone.pools.at(0).peak.value, good.headline.pools.at(0).peak.value);
  ContenderRun infeasible;
  infeasible.headline.outcome = Outcome::infeasible;
  EXPECT_TRUE(figures_of({infeasible}).pools.empty());
}

// Ranks 0-1 wait 5 s for the reduction in update_actor; the tail of 20 s and 40 s is waited in a collective
// only where no controller leads.
TEST(CollectiveWait, IsTheLongestWithATimer) {
  Job job = small_job(3);
  auto const led = longest_collective_wait(small_log(), job);
  ASSERT_TRUE(led);
  EXPECT_DOUBLE_EQ(led->longest.value, 5);
  EXPECT_EQ(led->phase, Phase::update_actor);
  EXPECT_EQ(led->what, "wait");
  EXPECT_EQ(led->timeout.value, 600);
  job.framework.single_controller = false;
  EXPECT_DOUBLE_EQ(longest_collective_wait(small_log(), job)->longest.value, 40);
  EventLog alone = small_log();
  alone.pools[0].gpus = 1;
  EXPECT_FALSE(longest_collective_wait(alone, job));
}

}  // namespace
}  // namespace rollcast
