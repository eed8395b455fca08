#include "scenarios/text/expected_fields.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

TEST(ExpectedFields, BoundsOfTimes) {
  ScenarioResult const r =
      read_example({"expected={outcome: completed, step_seconds: {least: 10 s}, phase_seconds: {generate: "
                    "{most: 500 ms}, wake: "
                    "{least: 1 s, most: 2 s}}, idle: {cause: phase_wait, least: 0.25}}"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  Expected const& e = r.scenario->expected.value();
  EXPECT_EQ(e.step_seconds.least.value().value, 10);
  EXPECT_FALSE(e.step_seconds.most);
  ASSERT_EQ(e.phase_seconds.size(), 2U);
  auto const bounds_of = [&](Phase phase) {
    return e.phase_seconds[e.phase_seconds[0].first == phase ? 0 : 1].second;
  };
  EXPECT_EQ(bounds_of(Phase::generate).most.value().value, 0.5);
  EXPECT_EQ(bounds_of(Phase::wake).least.value().value, 1);
  EXPECT_EQ(e.idle.value().cause, "phase_wait");
  EXPECT_EQ(e.idle.value().least, 0.25);
}

TEST(ExpectedFields, WrongBoundsAreProblems) {
  problem_of(read_example({"expected={outcome: completed, phase_seconds: 3}"}), "expected.phase_seconds");
  problem_of(read_example({"expected={outcome: completed, phase_seconds: {sleeping: {}}}"}),
             "expected.phase_seconds.sleeping");
  problem_of(read_example({"expected={outcome: completed, idle: {least: 0.2}}"}), "expected.idle.cause");
  problem_of(read_example({"expected={outcome: completed, step_seconds: {least: 3}}"}),
             "expected.step_seconds.least");
}

}  // namespace
}  // namespace rollcast
