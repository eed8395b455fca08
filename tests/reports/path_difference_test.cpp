#include "reports/path_difference.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

constexpr double kStep = 100;

PathShare share(Phase phase, Activity cause, double seconds) {
  return {std::string(name_of(phase)), std::string(name_of(cause)), Seconds(seconds)};
}

// One pool takes turns: generation 40 s and 20 s of its tail, log-probabilities 10 s, update 28 s, wake 2 s.
ContenderFigures colocated_one() {
  ContenderFigures f;
  f.step.mean = Seconds(kStep);
  f.phases = {{Phase::wake, 0, Seconds(2)},
              {Phase::generate, 0, Seconds(60)},
              {Phase::old_logprob, 0, Seconds(10)},
              {Phase::update_actor, 0, Seconds(28)}};
  f.critical_path = {share(Phase::wake, Activity::copy, 2),
                     share(Phase::generate, Activity::compute, 40),
                     share(Phase::generate, Activity::rollout_tail, 20),
                     share(Phase::old_logprob, Activity::compute, 10),
                     share(Phase::update_actor, Activity::compute, 25),
                     share(Phase::update_actor, Activity::communication, 3)};
  return f;
}

// Two pools side by side: generation of 65 s hides all training but 1 s of the update.
ContenderFigures two_pools() {
  ContenderFigures f;
  f.step.mean = Seconds(66);
  f.phases = {{Phase::generate, 1, Seconds(65)},
              {Phase::old_logprob, 0, Seconds(12)},
              {Phase::update_actor, 0, Seconds(50)}};
  f.critical_path = {share(Phase::generate, Activity::compute, 65),
                     share(Phase::update_actor, Activity::compute, 1)};
  return f;
}

// Savings: update 28 - 1 = 27 s and log-probabilities 10 s, both hidden; the tail 20 s; wake 2 s, absent.
// Cost: generation 65 - 40 = 25 s, which is more than a fifth of 59 s.
TEST(PathDifference, SaysWhatIsHiddenAndWhatItCosts) {
  auto const d = path_differences(two_pools(), colocated_one(), 1);
  ASSERT_EQ(d.size(), 5u);
  EXPECT_EQ(d[0].phase, "update_actor");
  EXPECT_EQ(d[0].cause, "work");
  EXPECT_EQ(d[0].saved().value, 27);
  EXPECT_EQ(d[0].change, PathChange::hidden);
  EXPECT_EQ(d[1].phase, "generate");
  EXPECT_EQ(d[1].saved().value, -25);
  EXPECT_EQ(d[1].change, PathChange::more);
  EXPECT_EQ(d[2].change, PathChange::nothing);
  EXPECT_EQ(d[3].change, PathChange::hidden);
  EXPECT_EQ(d[4].change, PathChange::absent);
  EXPECT_EQ(hidden_behind(two_pools()), "generation");
  EXPECT_EQ(
      because(d, hidden_behind(two_pools())),
      "it hides the actor's update and the old log-probabilities behind generation (-37.0 s) and does not "
      "wait for generation's tail (-20.0 s), although it spends 25.0 s more on generation");
}

// The other way round nothing is hidden: the colocated one saves 25 s of generation and pays 59 s.
TEST(PathDifference, IsAntisymmetricInItsSeconds) {
  auto const d = path_differences(two_pools(), colocated_one(), 1);
  auto const back = path_differences(colocated_one(), two_pools(), 1);
  Seconds sum, sum_back;
  for (PathDifference const& x : d) sum += x.saved();
  for (PathDifference const& x : back) sum_back += x.saved();
  EXPECT_NEAR(sum.value, kStep - 66, 1e-9);
  EXPECT_NEAR(sum_back.value, 66 - kStep, 1e-9);
}

// Half the work a step counts twice: 2 x 65 s of generation against 40 s.
TEST(PathDifference, ScalesToTheSameWork) {
  auto const d = path_differences(two_pools(), colocated_one(), 2);
  EXPECT_EQ(d[0].phase, "generate");
  EXPECT_EQ(d[0].winner.value, 130);
  EXPECT_EQ(d[0].saved().value, -90);
}

TEST(PathDifference, LeavesOutWhatIsBelowAHundredth) {
  ContenderFigures a = colocated_one();
  a.critical_path[0].seconds = Seconds(1.5);  // 0.5 s of 100 s
  EXPECT_TRUE(path_differences(a, colocated_one(), 1).empty());
  EXPECT_EQ(because({}, "generation"), "");
}

// Of the path of a step that waits for its trainer, generation is the smaller part.
TEST(PathDifference, HidesBehindWhatTheStepWaitsFor) {
  ContenderFigures f = two_pools();
  f.critical_path = {share(Phase::generate, Activity::compute, 5),
                     share(Phase::old_logprob, Activity::compute, 12),
                     share(Phase::update_actor, Activity::compute, 50)};
  EXPECT_EQ(hidden_behind(f), "training");
  EXPECT_EQ(hidden_behind(colocated_one()), "other phases");
}

// A shorter tail, and a quicker update on the same pool.
TEST(PathDifference, SaysWhatTakesLess) {
  ContenderFigures a = colocated_one();
  a.critical_path[2].seconds = Seconds(8);
  a.critical_path[4].seconds = Seconds(20);
  a.phases[3].mean = Seconds(23);
  auto const d = path_differences(a, colocated_one(), 1);
  EXPECT_EQ(because(d, hidden_behind(a)),
            "it waits less for generation's tail (-12.0 s) and spends less on the actor's update (-5.00 s)");
}

}  // namespace
}  // namespace rollcast
