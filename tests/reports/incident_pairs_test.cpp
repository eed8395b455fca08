// What two scenarios of an incident tell only beside each other.
#include <gtest/gtest.h>

#include "calibrate/profiles.hpp"
#include "reports/analysis.hpp"
#include "sim/simulate.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

struct Figures {
  double step = 0;       // seconds
  double update = 0;     // of the actor
  double gpu_hours = 0;  // of a step
};

Figures figures_of(std::string const& name) {
  std::vector<double> const v = in_child([&]() -> std::vector<double> {
    ScenarioResult const r = read_scenario_file(ROLLCAST_SOURCE_DIR "/scenarios/incidents/" + name, {});
    EXPECT_TRUE(r.scenario) << format(r.problems);
    Analysis const a = analyse(simulate(*r.scenario, profiles_for(r.scenario->job), RunOptions()));
    double update = 0;
    for (PhaseTime const& p : a.phases) {
      if (p.phase == Phase::update_actor) update += p.mean.value;
    }
    return {a.step.mean.value, update, a.gpu_hours_per_step};
  });
  return {v.at(0), v.at(1), v.at(2)};
}

// UniRL pull request 45: 28.4 s of training become 15.3 s, which is 1.86 times as fast; a step becomes 14.1 s
// shorter, by no more than the training does.
TEST(IncidentPairs, DealingSamplesByLengthSpeedsUpTheUpdate) {
  Figures const together = figures_of("F7-siblings-together.yaml");
  Figures const balanced = figures_of("F7-balanced.yaml");
  EXPECT_NEAR(together.update / balanced.update, 28.4 / 15.3, 0.3);
  EXPECT_NEAR((together.step - balanced.step) / (together.update - balanced.update), 1, 0.15);
}

// marin issue 8955: twice the engines, 38.23 and 39.92 s an update in the first record, 4.2 % less in the
// repeated one; 23.4 and 15.8 % more GPU-hours. With steps alike it would be 48 / 40.
TEST(IncidentPairs, MoreEnginesDoNotShortenTheLongestResponses) {
  Figures const eight = figures_of("F17-eight-engines.yaml");
  Figures const sixteen = figures_of("F17-sixteen-engines.yaml");
  EXPECT_NEAR(sixteen.step / eight.step, 1, 0.05);
  EXPECT_GT(sixteen.gpu_hours / eight.gpu_hours, 1.14);
  EXPECT_LT(sixteen.gpu_hours / eight.gpu_hours, 1.26);
}

}  // namespace
}  // namespace rollcast
